import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { findRemains, type Picture, takeSteadyPicture, type View } from '../support/machine/picture.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { type Answer, asks, fails, says } from '../support/peers/model-server.ts';
import { PNG } from '../support/runs/attachments.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

const STEADY_MS = 10_000;
const PATIENCE_MS = 25_000;
const MARK = '61733';
/** Starts what would last, and writes into the workspace. */
const LEAVES = `import os, subprocess
def leaves() -> str:
    subprocess.Popen(["sleep", "${MARK}"], start_new_session=True)
    open(os.environ["PERDURA_WORKSPACE"] + "/written", "w").close()
    return "left"
`;
const LASTS = LEAVES.replace('import os,', 'import time, os,').replace('return "left"', `time.sleep(${MARK})`);

let here: TestInstallation;
let home: string;
let server: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'left-by-runs-'));
  await chmod(home, 0o711);
  server = await startGitServer();
  const env = { PERDURA_HOME: home, REPO_CA_FILE: server.ca_file, EGRESS_ALLOW: '127.0.0.1,localhost' };
  here = await startTestInstallation({ env });
  // What is opened when it is first needed stays open.
  await runOf({ tools: [LEAVES] }, asksFirst, says('Done.'));
});
afterAll(async () => {
  await here?.stop();
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
});

/** Looks at what belongs to this process: its sandbox's processes are looked at elsewhere, as its sockets come and go. */
const view = (): View => ({
  ancestor: process.pid,
  folders: [
    home,
    ...readdirSync(tmpdir())
      .filter((name) => name.startsWith('perdura-git-'))
      .map((name) => join(tmpdir(), name)),
  ],
  ignored: /^descriptor: (?:socket|pipe)|main\.py zygote|\/calls\/slot-|perdura-git-server-/,
});

/** Returns the result of the last call as the model received it. */
const readResult = () => here.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content;

/** Calls the agent's own tool. */
const asksFirst: Answer = (response, request) =>
  asks({ name: request.tools?.find(({ function: { name } }) => /leaves/.test(name))?.function.name ?? 'bash' })(
    response,
    request,
  );

async function runOf(options: Parameters<TestInstallation['workflow']>[0], ...answers: Answer[]): Promise<string> {
  here.model.script(...answers);
  return (await here.ended(await here.prompt(await here.workflow(options)), 60_000)).status as string;
}

const inRepository = (branch: string | null) => ({ workflow: { repo_url: server.url, ...(branch && { repo_branch: branch }) } });
const BASH = { agent: { builtin_tools: ['bash', 'write'] } };
const bash = (command: string) => asks({ name: 'bash', args: { command } });

const SCENES: Record<string, () => Promise<unknown>> = {
  'a run whose tool leaves a process': async () => {
    expect(await runOf({ tools: [LEAVES] }, asksFirst, says('Done.'))).toBe('completed');
    expect(readResult()).toContain('left');
  },
  'a run whose command leaves a process and files': async () =>
    expect(await runOf(BASH, bash(`setsid sleep ${MARK} >/dev/null 2>&1 & mkdir -p a/b; echo x > a/b/c`), says('Done.'))).toBe(
      'completed',
    ),
  'a run that fails after a call': async () => expect(await runOf({ tools: [LEAVES] }, asksFirst, fails(400))).toBe('failed'),
  'a run in a repository': async () => {
    expect(await runOf({ ...BASH, ...inRepository(null) }, bash('ls'), says('Done.'))).toBe('completed');
    expect(readResult()).toContain('README.md');
  },
  'a run in a branch that is not there': async () => expect(await runOf({ ...BASH, ...inRepository('nowhere') })).toBe('failed'),
  'a run that is halted during a call': async () => {
    here.model.script(asksFirst);
    const task_id = await here.prompt(await here.workflow({ tools: [LASTS] }));
    await until('the tool runs', async () => existsSync(join(home, 'workspaces', task_id, 'written')));
    await here.alice.post(`/api/tasks/${task_id}/stop`);
    expect((await here.ended(task_id)).status).toBe('halted');
  },
  'a run with a file': async () => {
    here.model.script(says('Seen.'));
    const attachments = [{ data: `data:image/png;base64,${PNG.toString('base64')}` }];
    const task = await here.ended(await here.prompt(await here.workflow(), 'Look.', { attachments }));
    expect(task.status).toBe('completed');
  },
  'a file of a tool that is wrong': async () => {
    const refused = await here.alice.post('/api/custom-tools', { name: 'wrong', source_code: 'def wrong(: pass' });
    expect(refused.status).toBe(422);
  },
  'a trial of a tool': async () => {
    const source_code = LEAVES.replace('leaves', 'tried').replace(/^ {4}open.*$/m, '    pass');
    const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'tried', source_code }), 201);
    expect(await here.alice.ok(here.alice.post(`/api/custom-tools/${id}/run`, { arguments: {} }))).toMatchObject({
      success: true,
      error: null,
    });
  },
  'an evaluation': async () => {
    const { dataset, begin, ended } = openEvaluations(here);
    const workflow_id = await here.workflow(BASH);
    here.model.script(bash(`setsid sleep ${MARK} >/dev/null 2>&1 & echo x > y`), says('one'));
    const { evaluation } = await ended(await begin(await dataset({ first: 'one' }), { workflow_id }));
    expect(evaluation.status).toBe('completed');
  },
};

it.each(Object.entries(SCENES))('nothing is left on the machine by %s', { timeout: 120_000 }, async (_, play) => {
  const before: Picture = await takeSteadyPicture(view(), STEADY_MS);
  await play();
  expect(await findRemains(before, view(), PATIENCE_MS)).toEqual([]);
});
