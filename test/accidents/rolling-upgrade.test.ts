import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { localToken } from '../../src/embedded/local-identity.ts';
import { createResources } from '../../src/main/resources.ts';
import { type Client, clientOf, rebuilt, type StreamedEvent } from '../support/client.ts';
import { unmigratedDatabase } from '../support/database.ts';
import { helpers } from '../support/installation.ts';
import { asks, hangs, type ModelServer, says, startModelServer } from '../support/model-server.ts';
import { knowsPreviousVersion, previousVersion } from '../support/previous-version.ts';
import { type Child, perdura } from '../support/processes.ts';
import { until } from '../support/until.ts';

/** An installation is upgraded as docs/upgrades.md describes, while its runs are in progress and with both versions at work. */
type Command = (command: string, env: Record<string, string>) => Child;

const resources = createResources((error) => console.error(error));
let model: ModelServer;
let env: Record<string, string>;
let old: Command;

beforeAll(async () => {
  if (!knowsPreviousVersion()) return;
  const folder = async (name: string) => {
    const path = await mkdtemp(join(tmpdir(), `perdura-${name}-`));
    return resources.hold(path, (it) => rm(it, { recursive: true, force: true }));
  };
  old = await previousVersion(await folder('previous'));
  const database = resources.hold(await unmigratedDatabase(), (it) => it.drop());
  model = resources.hold(await startModelServer(), (it) => it.stop());
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporal_address'),
    TEMPORAL_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    PERDURA_HOME: await folder('home'),
    PERDURA_HOST: '127.0.0.1',
    PERDURA_PORT: '0',
    IDENTITY_PROVIDERS: 'local',
    DEFAULT_RUNTIME_BASE_URL: model.url,
    EGRESS_ALLOW: '127.0.0.1',
    RECONCILE_SECONDS: '5',
  };
}, 120_000);
afterAll(() => resources.close());

const held = (child: Child) => resources.hold(child, (it) => it.end('SIGKILL'));

async function finished(command: Child): Promise<string> {
  const code = await command.closed;
  expect(code, command.output()).toEqual([0, null]);
  return command.output();
}

async function workerOf(version: Command): Promise<Child> {
  const worker = held(version('worker', env));
  await worker.prints(/takes work/);
  return worker;
}

async function apiOf(version: Command): Promise<{ process: Child; client: Client }> {
  const api = held(version('api', env));
  await api.prints(/API at \S+\n/);
  const { token } = await localToken(env.PERDURA_HOME!);
  return { process: api, client: clientOf(/API at (\S+)/.exec(api.output())![1]!, token) };
}

const TODO = 'manage_todo_list';
const writes = () => asks({ name: TODO, args: { todoList: [{ id: 1, title: 'a', status: 'done' }] } });
const stateOf = async (client: Client, task_id: string) => (await client.ok(client.get(`/api/tasks/${task_id}`))).status;

/** Everything that the record of a run says, as a client reads it. */
const recordOf = async (client: Client, { task_id, workflow_id }: { task_id: string; workflow_id: string }) => ({
  task: await client.ok(client.get(`/api/tasks/${task_id}`)),
  steps: await client.ok(client.get(`/api/tasks/${task_id}/steps`)),
  events: (await client.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`)).map(({ id, type }) => [id, type]),
});

describe.skipIf(!knowsPreviousVersion())('an upgrade from the previous version', () => {
  it('continues runs that stream, wait for approval, wait for their lane or have ended, and changes no record', async () => {
    await finished(old('migrate', env));
    const oldWorker = await workerOf(old);
    const before = await apiOf(old);
    const { workflow, prompt, ended } = helpers(before.client, model);

    model.script(writes(), says('Ended before.'));
    const first = { workflow_id: await workflow({ agent: { builtin_tools: [TODO] } }), task_id: '' };
    first.task_id = await prompt(first.workflow_id);
    await ended(first.task_id);
    const recorded = await recordOf(before.client, first);

    model.script(writes());
    const approved = await workflow({ agent: { builtin_tools: [TODO], approval_tools: [TODO] } });
    const waiting = await prompt(approved);
    await until('it waits', async () => (await stateOf(before.client, waiting)) === 'waiting');

    model.script(hangs('Half of '));
    const spoken = await workflow({ workflow: { on_busy: 'enqueue' } });
    const streaming = await prompt(spoken);
    const path = `/api/workflows/${spoken}/stream?task_id=${streaming}`;
    const half = await before.client.events(path, { enough: ({ type }) => type === 'message_delta' });
    const queued = await prompt(spoken);
    const schedule = {
      name: 'daily',
      prompt: 'Report.',
      workflow_id: first.workflow_id,
      interval_value: 1,
      interval_unit: 'days',
    };
    const { id: schedule_id } = await before.client.ok(before.client.post('/api/scheduled-agents', schedule), 201);
    const secret = { name: 'KEY', value: 'sealed by the previous version' };
    await before.client.ok(before.client.post('/api/tokens', secret), 201);

    await finished(perdura('migrate', env));
    model.script(says('Next to the new tables.'));
    const next = await helpers(before.client, model, 'next ').workflow();
    const meanwhile = await prompt(next);
    expect(await ended(meanwhile, 40_000)).toMatchObject({ status: 'completed', response: 'Next to the new tables.' });
    expect((await before.client.get('/health/ready')).status).toBe(200);

    await workerOf(perdura);
    const after = await apiOf(perdura);
    model.script(says('All of it.'), says('After its turn.'));
    expect(await oldWorker.end('SIGTERM')).toBe(0);
    const rest = await after.client.events(path, { headers: { 'last-event-id': String(half.at(-1)!.id) }, timeout_ms: 60_000 });
    expect(await before.process.end('SIGTERM')).toBe(0);
    const now = helpers(after.client, model, 'new ');
    expect(await now.ended(streaming, 40_000)).toMatchObject({ status: 'completed', response: 'All of it.' });
    expect(rebuilt([...half, ...rest] as StreamedEvent[])).toEqual({ texts: ['All of it.'], unfinished: '' });
    expect(await now.ended(queued, 40_000)).toMatchObject({ status: 'completed', response: 'After its turn.' });

    model.script(says('Approved.'));
    await after.client.ok(after.client.post(`/api/tasks/${waiting}/approvals/1-1`, { decision: 'approve' }));
    expect(await now.ended(waiting, 40_000)).toMatchObject({ status: 'completed', response: 'Approved.' });

    model.script(says('By the schedule.'));
    const { task_id } = await after.client.ok(after.client.post(`/api/scheduled-agents/${schedule_id}/trigger`), 201);
    expect(await now.ended(task_id, 40_000)).toMatchObject({ status: 'completed', response: 'By the schedule.' });
    expect(await recordOf(after.client, first)).toMatchObject(recorded);
    expect(await finished(perdura('doctor', env))).not.toContain('FAILED');
  }, 300_000);
});
