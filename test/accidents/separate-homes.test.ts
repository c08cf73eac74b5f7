import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { startObjectStore, type TestObjectStore } from '../support/peers/object-store.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let store: TestObjectStore;
const workers: Child[] = [];
const homes: string[] = [];
beforeAll(async () => {
  store = await startObjectStore();
  here = await startTestInstallation({ worker: false });
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});
afterAll(async () => {
  await here?.stop();
  await store?.stop();
});

/** A worker with a separate home. */
async function startWorker(env: Record<string, string> = {}): Promise<{ worker: Child; home: string }> {
  const home = env.PERDURA_HOME ?? mkdtempSync(join(tmpdir(), 'perdura-home-'));
  homes.push(home);
  const worker = await startWorkerProcess(here.setting, { ...store.env, PERDURA_HOME: home, ...env });
  workers.push(worker);
  return { worker, home };
}

/** Ends the workers as a power cut would, with everything on their disks. */
async function loseWorkers(): Promise<void> {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
}

const bash = (command: string, id = randomUUID()) => ({ name: 'bash', args: { command }, id });
const resultsOf = async (task_id: string) =>
  ((await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).messages as { role: string; content: string }[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

it('a run finds every file after each of its workers was lost with its disk', async () => {
  const rounds = 2;
  const gates = Array.from({ length: rounds }, () => Promise.withResolvers<void>());
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] }, workflow: { max_turns: 50 } });
  await startWorker();
  // Answers by the transcript: a lost worker's request may have been sent or not, and is sent again.
  here.model.always(async (response, request) => {
    const done = request.messages.filter(({ role }) => role === 'tool').length;
    const round = Math.floor(done / 2);
    if (done % 2 === 1) await gates[round]!.promise;
    if (done === 2 * rounds) return says('Done.')(response, request);
    const made = `mkdir -p d${round} && echo ${round} > d${round}/file && chmod 750 d${round}/file && echo ${round} >> log`;
    const seen = round + 1 < rounds ? 'true' : 'cat log; stat -c "%n %a" d*/file; cat d*/file';
    return asks(bash(done % 2 === 0 ? made : seen))(response, request);
  });
  const task_id = await here.prompt(workflow_id);
  for (let round = 0; round < rounds; round += 1) {
    await until(`round ${round} is done`, async () => (await resultsOf(task_id)).length === 2 * round + 1, 60_000);
    await loseWorkers();
    await startWorker();
    gates[round]!.resolve();
  }
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
  const numbers = Array.from({ length: rounds }, (_, round) => String(round));
  const modes = numbers.map((round) => `d${round}/file 750`);
  expect((await resultsOf(task_id)).at(-1)!.trim().split('\n')).toEqual([...numbers, ...modes, ...numbers]);
}, 240_000);

it('calls of one round on two workers leave the files of both', async () => {
  // Each takes one call at a time, so that the round is shared out.
  await startWorker({ WORKER_MAX_ACTIVITIES: '1' });
  await startWorker({ WORKER_MAX_ACTIVITIES: '1' });
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] }, workflow: { max_turns: 50 } });
  const numbers = Array.from({ length: 6 }, (_, number) => String(number));
  here.model.script(
    asks(bash('echo before > before')),
    asks(...numbers.map((number) => bash(`sleep 1; echo $PPID-${number} > file-${number}`))),
    asks(bash('cat before; ls file-*')),
  );
  here.model.always(says('Done.'));
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
  expect((await resultsOf(task_id)).at(-1)!.trim().split('\n')).toEqual(['before', ...numbers.map((number) => `file-${number}`)]);
}, 120_000);

it('the repository is checked out once, and its files go where the run goes', async () => {
  const server = await startGitServer({ token: 'token-of-the-repository' });
  try {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'repo', value: 'token-of-the-repository' }));
    const repo = { repo_url: server.url, repo_branch: 'main', repo_token_name: 'repo' };
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] }, workflow: repo });
    await startWorker({ REPO_CA_FILE: server.ca_file });
    const gate = Promise.withResolvers<void>();
    here.model.script(
      async (response, request) => {
        await gate.promise;
        await asks(bash('true'))(response, request);
      },
      asks(bash('git status --short; cat README.md; git log --format=%H')),
    );
    here.model.always(says('Done.'));
    const asked = here.model.requests.length;
    const task_id = await here.prompt(workflow_id);
    await until('the model is asked', async () => here.model.requests.length > asked, 30_000);
    await loseWorkers();
    // This one could not check it out: it does not know the authority.
    await startWorker();
    gate.resolve();
    here.model.script(asks(bash('git status --short; cat README.md; git log --format=%H')));
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
    expect((await resultsOf(task_id)).at(-1)).toContain('Hello from the repository.');
    expect((await resultsOf(task_id)).at(-1)).toContain(server.head);
  } finally {
    await server.stop();
  }
}, 120_000);

it('a call whose files cannot be stored is not done until they can, and nothing is left when the run has ended', async () => {
  const { home } = await startWorker();
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] }, workflow: { max_turns: 50 } });
  here.model.script(asks(bash('echo kept > file')), asks(bash('cat file')));
  here.model.always(says('Done.'));
  await store.pause();
  const task_id = await here.prompt(workflow_id);
  await until('the worker has noticed', async () => workers[0]!.output().includes('A workspace is not stored yet'), 60_000);
  expect(await resultsOf(task_id)).toEqual([]);
  expect(readdirSync(join(home, 'workspaces'))).toEqual([task_id]);
  await store.resume();
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
  expect((await resultsOf(task_id)).at(-1)).toContain('kept');
  await expect.poll(() => store.objects.folders('workspaces/')).not.toContain(task_id);
  await expect.poll(() => readdirSync(join(home, 'workspaces'))).toEqual([]);
  expect(await here.core.store.workspaceLayers.find(task_id)).toEqual([]);
}, 120_000);

it('a second worker with the same home does not start, and reports why', async () => {
  const { home } = await startWorker();
  await expect(startWorker({ PERDURA_HOME: home })).rejects.toThrow(/with S3_BUCKET each worker needs a separate PERDURA_HOME/);
});
