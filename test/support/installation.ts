import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client as TemporalClient } from '@temporalio/client';
import { inject } from 'vitest';
import type { DashboardSettings } from '../../src/api/service/dashboard.ts';
import { isTerminal, LIVE_STATUSES } from '../../src/domain/statuses.ts';
import { localIdentity } from '../../src/identity/providers.ts';
import { type Config, readConfig } from '../../src/main/config.ts';
import type { RunControl, SharedServices } from '../../src/main/core.ts';
import type { InstallationSettings } from '../../src/main/installation-settings.ts';
import { textLine } from '../../src/main/log.ts';
import { openWorker } from '../../src/main/open-worker.ts';
import { createResources, type Resources } from '../../src/main/resources.ts';
import { openApi } from '../../src/main/wiring/api.ts';
import { openRunControl, openSharedServices, openWorkerConnection } from '../../src/main/wiring/index.ts';
import { lazyConnection } from '../../src/temporal/client/client-connection.ts';
import { reconcilerScheduleId } from '../../src/temporal/names.ts';
import { type Client, clientOf, type StreamedEvent } from './client.ts';
import { findForeignEvents } from './contract/foreign-events.ts';
import { type Answers, type Description, listMisdescribed, listUndescribed, watchAnswers } from './contract/statuses.ts';
import { testDatabase } from './database/database.ts';
import { freeNames } from './harness/second-attempts.ts';
import { type ModelServer, startModelServer } from './peers/model-server.ts';
import './sdk-log.ts';

export const ALICE = 'token-of-alice';
export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;
export const BOB = 'token-of-bob';

/**
 * The fixed start of a key. A stream holds back a letter that may begin a secret: with a random start, the last letter of a
 * text would be missing now and then.
 */
const KEY_START = '////';

export interface Person {
  token: string;
  login: string;
  /** The owner of what the person makes, such as `local:alice`. */
  subject: string;
}

export interface TestInstallation {
  url: string;
  setting: InstallationSettings;
  core: SharedServices;
  driver: RunControl;
  model: ModelServer;
  alice: Client;
  bob: Client;
  anonymous: Client;
  people: Record<'alice' | 'bob', Person>;
  /** Runs a statement in the database of the installation, which others may share, and returns its rows. */
  sql(text: string, ...values: unknown[]): Promise<any[]>;
  /** Returns a name that nothing in the installation has. */
  unique(name: string): string;
  /** Creates an agent of Alice and returns its id. */
  agent(values?: object): Promise<string>;
  /** Follows the stream of Alice's task from its begin, until `enough` returns true or the task has ended. */
  events(task_id: string, options?: Parameters<Client['events']>[1]): Promise<StreamedEvent[]>;
  /** Waits until a task has ended and returns it. */
  ended(task_id: string, timeout_ms?: number): Promise<Record<string, any>>;
  /** Creates a workflow of Alice whose agent uses the scripted model. */
  workflow(options?: { agent?: object; workflow?: object; tools?: string[] }): Promise<string>;
  /** Sends a prompt as Alice; returns the task's id. */
  prompt(workflow_id: string, prompt?: string, more?: object): Promise<string>;
  answers: Answers;
  /**
   * Stops the installation. Rejects if the API answered with a status, or with a body, that `/openapi.json` does not describe
   * for the operation.
   */
  stop(): Promise<void>;
}

export interface InstallationOptions {
  /** Environment variables in addition to the defaults. */
  env?: Record<string, string>;
  worker?: boolean;
  setting?: Partial<InstallationSettings>;
  /** Replaces the built dashboard. */
  dashboards?: DashboardSettings;
  /** Receives every log line of the worker and of requests. */
  log?: (line: string) => void;
  /** True if a test makes the service fail internally, which is answered with 500. */
  fails_inside?: boolean;
}

/** Starts API and worker in this process, with the real servers of the test run and a scripted model. */
export async function startTestInstallation(options: InstallationOptions = {}): Promise<TestInstallation> {
  const model = await startModelServer();
  const people = { alice: personOf('alice', ALICE), bob: personOf('bob', BOB) };
  const running = await startService(options, model, [people.alice, people.bob]);
  let stopped: Promise<void> | undefined;
  return { ...viewOf(running, model, people), stop: () => (stopped ??= stop()) };

  async function stop(): Promise<void> {
    const faults = await listFaults(running, options);
    // Otherwise a worker that stops waits for their steps. What a test has broken may stay broken.
    if (options.worker !== false)
      for (const { token } of Object.values(people)) await leaveNothing(clientOf(running.url, token)).catch(() => {});
    await running.resources.close();
    await model.stop();
    if (!options.env?.TEMPORAL_TASK_QUEUE) await leaveEngine(running.setting.config).catch(() => {});
    refuse(faults);
  }
}

/** Options that can be compared: two files with the same ones share an installation. */
export type SharedOptions = Pick<InstallationOptions, 'env' | 'worker'>;

/** The installations that the files of this process share. They end with the process. */
const shared = new Map<string, Promise<Service & { accounts: Person[] }>>();
let views = 0;

/**
 * Returns the process's installation with these options, for a file that looks at nothing but what it has made: with two persons
 * and another scripted model. `stop` halts what the file left running and frees its names.
 */
export async function shareInstallation(options: SharedOptions = {}): Promise<TestInstallation> {
  const key = JSON.stringify(options);
  const starting = shared.get(key) ?? startShared(options);
  shared.set(key, starting);
  const running = await starting;
  const [model, since] = [await startModelServer(), new Date()];
  views += 1;
  const people = { alice: personOf(`alice-${views}`), bob: personOf(`bob-${views}`) };
  running.accounts.push(people.alice, people.bob);
  running.answers.forget();
  let stopped: Promise<void> | undefined;
  return { ...viewOf(running, model, people), stop: () => (stopped ??= stop()) };

  async function stop(): Promise<void> {
    if (options.worker !== false)
      for (const person of Object.values(people)) await leaveNothing(clientOf(running.url, person.token));
    const faults = await listFaults(running, { since });
    await freeNames(
      running.setting.database_url,
      since,
      Object.values(people).map(({ subject }) => subject),
    );
    await model.stop();
    refuse(faults);
  }
}

async function startShared(options: SharedOptions) {
  const accounts: Person[] = [];
  // What calls the default runtime has its own installation.
  const model = await startModelServer();
  return { ...(await startService(options, model, accounts)), accounts };
}

/** Halts a person's runs, and deletes the schedules that would start more. */
async function leaveNothing(client: Client): Promise<void> {
  const idsOf = async (path: string) => ((await client.ok(client.get(path))) as { id: string }[]).map(({ id }) => id);
  for (const id of await idsOf('/api/scheduled-agents?limit=1000')) await client.del(`/api/scheduled-agents/${id}`);
  for (const status of LIVE_STATUSES)
    for (const id of await idsOf(`/api/tasks?limit=1000&status=${status}`)) await client.post(`/api/tasks/${id}/stop`);
}

const personOf = (login: string, token = `token-of-${login}`): Person => ({ token, login, subject: `local:${login}` });

interface Service extends Pick<TestInstallation, 'url' | 'setting' | 'core' | 'driver'> {
  resources: Resources;
  answers: Answers;
  describe(): Promise<Description>;
}

async function startService(options: InstallationOptions, model: ModelServer, accounts: readonly Person[]): Promise<Service> {
  const { env = {}, worker = true, setting: overrides = {}, dashboards, log = () => {} } = options;
  const resources = createResources((error) => console.error(error));
  const database = await testDatabase();
  resources.hold(database, (it) => it.drop());
  const config = readConfig({
    LOG_LEVEL: 'silent',
    PERDURA_HOME: inject('cache_dir'),
    TEMPORAL_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
    TOOL_ISOLATION: 'auto',
    EGRESS_ALLOW: '127.0.0.1',
    MCP_PATHS: '/:rw',
    ...env,
  });
  const setting: InstallationSettings = {
    config,
    version: 'test',
    database_url: database.url,
    direct_database_url: null,
    temporal_address: inject('temporal_address'),
    temporal_ui_url: 'http://temporal.example',
    public_url: () => 'http://perdura.example',
    encryption_keys: `test:${KEY_START}${randomBytes(29).toString('base64').slice(0, 39)}=`,
    default_runtime: { base_url: model.url, model: 'default-model' },
    webhook_secret: WEBHOOK_SECRET,
    embeddings: null,
    egress_allow: config.EGRESS_ALLOW,
    configuration_allow: [],
    provider_allow: [],
    own_ports: [],
    answers_to: null,
    // A shared installation gets more accounts later.
    identity_providers: [(token) => localIdentity(accounts)(token)],
    ...overrides,
  };
  const core = await openSharedServices(setting, resources, (message, ids) => log(textLine(message, ids)));
  const connection = await openWorkerConnection(setting, resources, log);
  if (worker) await openWorker(core, connection, resources);
  const driver = openRunControl(core, connection, worker);
  const app = await openApi(core, driver, {
    resources,
    log_to: { write: log },
    ...(dashboards && { dashboards }),
  });
  const answers = watchAnswers(app.server);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const describe = async () => (app.server.listening ? (await app.inject('/openapi.json')).json<Description>() : { paths: {} });
  return { url, setting, core, driver, resources, answers, describe };
}

function viewOf(
  { url, setting, core, driver, answers }: Service,
  model: ModelServer,
  people: TestInstallation['people'],
): Omit<TestInstallation, 'stop'> {
  const alice = clientOf(url, people.alice.token);
  const unique = (name: string) => `${name} ${randomBytes(4).toString('hex')}`;
  return {
    ...{ url, setting, core, driver, model, alice, answers, people, unique },
    bob: clientOf(url, people.bob.token),
    anonymous: clientOf(url, null),
    ...helpers(alice, model),
    sql: async (text, ...values) => (await core.database.pool.query(text, values)).rows,
    agent: async (values = {}) => (await alice.ok(alice.post('/api/agents', { name: unique('agent'), ...values }), 201)).id,
    async events(task_id, options) {
      const { workflow_id } = await alice.ok(alice.get(`/api/tasks/${task_id}`));
      return alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, options);
    },
  };
}

/** Lists what the contract does not describe: events of the record since a time, and what the API answered. */
async function listFaults(
  { setting, answers, describe }: Service,
  { since = new Date(0), fails_inside = false }: { since?: Date; fails_inside?: boolean },
): Promise<string[]> {
  const description = await describe();
  const foreign = await findForeignEvents(setting.database_url, since);
  const missing = listUndescribed(description, answers.statuses).filter((answer) => !(fails_inside && answer.endsWith(' 500')));
  return [
    ...foreign.map((event) => `src/contracts/events.ts or log-events.ts does not describe ${event}`),
    ...[...missing, ...listMisdescribed(description, answers.bodies)].map(
      (answer) => `/openapi.json does not describe ${answer}`,
    ),
  ];
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

const LEAVING_MS = 5_000;

/**
 * Ends an installation's remaining work in the Temporal that all files share: no worker polls its queue any more, but its
 * schedule would continue.
 */
async function leaveEngine({ TEMPORAL_TASK_QUEUE: task_queue, TEMPORAL_NAMESPACE: namespace }: Config): Promise<void> {
  const connection = lazyConnection({ address: inject('temporal_address') });
  try {
    const { schedule, workflow } = new TemporalClient({ connection, namespace });
    await connection.withDeadline(Date.now() + LEAVING_MS, async () => {
      await schedule.getHandle(reconcilerScheduleId(task_queue)).delete();
      for await (const { workflowId } of workflow.list({ query: `TaskQueue = "${task_queue}" AND ExecutionStatus = "Running"` }))
        await workflow.getHandle(workflowId).terminate();
    });
  } finally {
    await connection.close();
  }
}

/** Creates the same helpers for another server's client, or for another user, whose `names` begin differently. */
export function helpers(alice: Client, model: ModelServer, names = ''): Pick<TestInstallation, 'ended' | 'workflow' | 'prompt'> {
  let made = 0;
  const providerOf = async () => {
    const values = {
      name: `${names}scripted ${++made}`,
      provider_type: 'openai_compatible',
      base_url: model.url,
      default_model: 'scripted',
    };
    return (await alice.ok(alice.post('/api/providers', values))).id as string;
  };
  return {
    async ended(task_id: string, timeout_ms = 20_000) {
      const until = Date.now() + timeout_ms;
      while (Date.now() < until) {
        const task = await alice.ok(alice.get(`/api/tasks/${task_id}`));
        if (isTerminal(task.status)) return task;
        await wait(50);
      }
      throw new Error(`the task ${task_id} did not end within ${timeout_ms} ms`);
    },
    async workflow({ agent = {}, workflow = {}, tools = [] }: { agent?: object; workflow?: object; tools?: string[] } = {}) {
      const custom_tool_ids: string[] = [];
      for (const source_code of tools) {
        const name = `t${++made}_${/def (\w+)/.exec(source_code)?.[1]}`;
        const renamed = source_code.replace(/def \w+/, `def ${name}`);
        custom_tool_ids.push((await alice.ok(alice.post('/api/custom-tools', { name, source_code: renamed }))).id);
      }
      const values = { name: `${names}agent ${++made}`, provider_id: await providerOf(), custom_tool_ids, ...agent };
      const { id: agent_id } = await alice.ok(alice.post('/api/agents', values));
      return (await alice.ok(alice.post('/api/workflows', { agent_id, output_format: 'markdown', ...workflow }))).id as string;
    },
    async prompt(workflow_id: string, prompt = 'Do it.', more: object = {}) {
      return (await alice.ok(alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt, ...more }), 201)).task_id as string;
    },
  };
}
