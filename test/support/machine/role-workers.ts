import { randomBytes } from 'node:crypto';
import { ROLES, type Role, toRunId } from '../../../src/temporal/names.ts';
import { MODULES, SERVERS } from '../../tools/support.ts';
import { asOperator } from '../database/operator.ts';
import { startTestInstallation, type TestInstallation } from '../installation.ts';
import { type Child, envOf, perdura } from './processes.ts';

export const SPLIT = { TEMPORAL_ROLE_QUEUES: 'true', ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' };
export const TOKENS = { provider: 'key-of-the-provider', tool: 'key-of-the-tool' };
export const TOOLS_ROLE = `tools_${randomBytes(4).toString('hex')}`;

export let here: TestInstallation;
/** The address of the database for the tools workers. */
export let limited_url: string;
export const workers: Partial<Record<Role, Child>> = {};

/** Starts the API and creates the role of tools workers, once for each test file. */
export async function openRoles(): Promise<void> {
  here = await startTestInstallation({ worker: false, env: SPLIT });
  await asOperator(here.setting.database_url, (operator) => operator.query(`CREATE ROLE ${TOOLS_ROLE} LOGIN PASSWORD 'tools'`));
  await migrateRole(TOOLS_ROLE);
  const limited = new URL(here.setting.database_url);
  Object.assign(limited, { username: TOOLS_ROLE, password: 'tools' });
  limited_url = limited.href;
  for (const name of Object.values(TOKENS)) await here.alice.ok(here.alice.post('/api/tokens', { name, value: `${name}-value` }));
}

export async function closeRoles(): Promise<void> {
  await asOperator(here.setting.database_url, (operator) =>
    operator.query(`DROP OWNED BY ${TOOLS_ROLE}; DROP ROLE ${TOOLS_ROLE}`),
  );
  await here.stop();
}

export const loseAll = async (): Promise<void> => {
  for (const role of ROLES) await lose(role);
};

export async function migrateRole(role: string): Promise<string> {
  const child = perdura('migrate', envOf(here.setting), ['--tools-role', role]);
  await child.ended;
  return child.output();
}

/** Starts a worker of one role in a separate process; a tools worker signs in to Postgres as its own role. */
export async function start(role: Role, setting = here.setting): Promise<void> {
  const limited = role === 'tools' ? { DATABASE_URL: limited_url } : {};
  const worker = perdura('worker', { ...envOf(setting), ...SPLIT, ...limited }, ['--role', role]);
  workers[role] = worker;
  await worker.prints(/takes work/);
}

export async function lose(role: Role): Promise<void> {
  await workers[role]?.end('SIGKILL');
  delete workers[role];
}

/** Returns what `perdura doctor` and the API's readiness report about the workers. */
export async function saidOfWorkers(env: Record<string, string> = {}) {
  const child = perdura('doctor', { ...envOf(here.setting), ...SPLIT, IDENTITY_PROVIDERS: 'local', ...env });
  await child.ended;
  const doctor = /^(?:ok|FAILED) +workers: .*$/m.exec(child.output())?.[0] ?? child.output();
  const { body } = await here.alice.get('/health/ready');
  return { doctor, ready: body as { status: string; checks: Record<string, { ok: boolean; detail: string }> } };
}

/** Returns the process that executed each activity of a run. */
export const takersOf = (task_id: string) => takersIn(toRunId(task_id));

/** Returns the process that executed each activity of an execution; of the local activities, it includes each tool call. */
export async function takersIn(execution: string): Promise<Record<string, number[]>> {
  const { events } = await here.driver.client.workflow.getHandle(execution).fetchHistory();
  const types = new Map<string, string>();
  const workers = new Map<string, string>();
  const takers: Record<string, Set<number>> = {};
  const note = (type: string | null | undefined, identity: string | null | undefined) => {
    if (type) takers[type] = (takers[type] ?? new Set()).add(Number.parseInt(identity ?? '', 10));
  };
  for (const event of events ?? []) {
    const { activityTaskScheduledEventAttributes: asked, activityTaskStartedEventAttributes: taken } = event;
    const { workflowTaskCompletedEventAttributes: task, markerRecordedEventAttributes: marker } = event;
    if (asked) types.set(String(event.eventId), asked.activityType?.name ?? '');
    if (taken) note(types.get(String(taken.scheduledEventId)), taken.identity);
    if (task) workers.set(String(event.eventId), task.identity ?? '');
    const data = Buffer.from(marker?.details?.data?.payloads?.[0]?.data ?? []).toString();
    if (data.includes('"callTool"')) note('callTool', workers.get(String(marker?.workflowTaskCompletedEventId)));
  }
  return Object.fromEntries(Object.entries(takers).map(([type, pids]) => [type, [...pids]]));
}

/** The source of a tool that takes some seconds, and returns the length of its stored token. */
const source = (name: string) => `
import os, time
EFFECT = "read"
ENV = {"KEY": "of the tool"}
def ${name}(seconds: int) -> str:
    time.sleep(seconds)
    return "the key has %d characters" % len(os.environ["KEY"])
`;

let made = 0;
/** The duration of the tool: long enough for a worker to be killed meanwhile. */
export const SECONDS = 6;

/** Creates a workflow with a provider's key, a Python tool with a stored token, and an MCP server. */
export async function workflowOf() {
  const number = ++made;
  const ok = async (path: string, body: object) => (await here.alice.ok(here.alice.post(path, body))).id as string;
  const provider_id = await ok('/api/providers', {
    ...{ name: `with a key ${number}`, provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' },
    api_key_token_name: TOKENS.provider,
  });
  const look = `look${number}`;
  const custom_tool = await ok('/api/custom-tools', {
    ...{ name: look, source_code: source(look) },
    env_config: { KEY: { token_name: TOKENS.tool } },
  });
  const mcp_server = await ok('/api/mcps', {
    ...{ name: `server${number}`, transport_type: 'stdio', paths: [MODULES, process.execPath, SERVERS] },
    connection_config: { command: process.execPath, args: [`${SERVERS}/odd.mjs`, 'changes'], env: {} },
  });
  const agent = {
    provider_id,
    custom_tool_ids: [custom_tool],
    mcp_server_ids: [mcp_server],
    builtin_tools: ['bash', 'store_memory'],
  };
  return {
    workflow_id: await here.workflow({ agent, workflow: { max_turns: 20 } }),
    look,
  };
}

export const callsOf = async (task_id: string) =>
  (await here.core.database.pool.query('SELECT status FROM tool_calls WHERE task_id = $1', [task_id])).rows as {
    status: string;
  }[];
export const resultsOf = async (task_id: string) =>
  ((await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).messages as { role: string; content: string }[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
