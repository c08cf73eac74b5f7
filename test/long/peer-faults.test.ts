import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { createResources } from '../../src/main/resources.ts';
import { openApi } from '../../src/main/wiring/api.ts';
import { openClientConnection } from '../../src/main/wiring/client-connection.ts';
import { openRunControl } from '../../src/main/wiring/index.ts';
import { toRunId } from '../../src/temporal/names.ts';
import { type Client, clientOf, rebuildTexts } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { mountSmallDisk, NO_DISK } from '../support/machine/small-disk.ts';
import { type Certificates, makeCertificates } from '../support/peers/certificates.ts';
import {
  type FaultyPeer,
  grpcStatus,
  type PeerFault,
  redisError,
  s3Refusal,
  startFaultyPeer,
} from '../support/peers/faulty-peer.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { startObjectStore } from '../support/peers/object-store.ts';
import { redisIsInstalled, redisServer } from '../support/peers/redis.ts';
import { until } from '../support/until.ts';

const LIMIT = { timeout: 150_000 };
const PATIENCE_MS = 60_000;
const TEXT = 'One two three four five six seven eight nine ten.';

type Endings = (() => unknown)[];
const endings: Endings = [];
async function tidy(list: Endings): Promise<void> {
  for (const end of list.splice(0).reverse()) await end();
}
afterAll(() => tidy(endings), 60_000);

/** Any peer can fail like this. */
const ON_THE_WAY: [string, PeerFault][] = [
  ['a closed port', { at: 'port' }],
  ['connections that are reset', { at: 'socket' }],
  ['silence', { at: 'silence' }],
  ['answers that break off', { at: 'middle' }],
  ['a name that is not known', { at: 'name', code: 'ENOTFOUND' }],
  ['a resolver that is down', { at: 'name', code: 'EAI_AGAIN' }],
  ['TLS where plain text is expected', { at: 'protocol' }],
];
const PLAIN_FOR_TLS: [string, PeerFault] = ['plain text where TLS is expected', { at: 'protocol' }];

/** Each fault with what people read then; `otherwise` where `of` names nothing else. */
const causes = (faults: [string, PeerFault][], otherwise: RegExp, of: Record<string, RegExp> = {}) =>
  faults.map(([name, fault]): [string, PeerFault, RegExp] => [name, fault, of[name] ?? otherwise]);

const bash = (command: string, id: string) => ({ name: 'bash', args: { command }, id });
const WRITER = { agent: { builtin_tools: ['bash'] } };

const isReady = ({ anonymous }: Pick<TestInstallation, 'anonymous'>) =>
  until('it is ready again', async () => (await anonymous.get('/health/ready')).status === 200, PATIENCE_MS);

const taskOf = ({ alice }: TestInstallation, task_id: string) => alice.ok(alice.get(`/api/tasks/${task_id}`));

/** Node trusts it as with NODE_EXTRA_CA_CERTS, until the end of the test. */
function trust({ ca }: Certificates, list: Endings): void {
  const known = getCACertificates('default');
  setDefaultCACertificates([...known, readFileSync(ca, 'utf8')]);
  list.push(() => setDefaultCACertificates(known));
}

/** A certificate that peers show. Removed with the rest. */
function certified(list: Endings) {
  const made = makeCertificates();
  list.push(made.remove);
  return { made, tls: { cert: readFileSync(made.cert), key: readFileSync(made.key) } };
}

interface WithTls {
  tls?: { cert: Buffer; key: Buffer };
}

describe('Temporal', () => {
  /** It is asked through the connection of a worker, and through that of an API without one. */
  interface Scene {
    here: TestInstallation;
    peer: FaultyPeer;
    apis: { alice: Client; anonymous: Client }[];
  }

  async function startScene(options: WithTls, list: Endings): Promise<Scene> {
    const name = options.tls ? 'localhost' : 'faulty-temporal.test';
    const peer = await startFaultyPeer({ name, target: inject('temporal_address'), ...options });
    list.push(() => peer.stop());
    const setting = { temporal_address: peer.host };
    const here = await startTestInstallation({ setting, env: { WORKER_ENGINE_RELAY: 'true' } });
    list.push(() => here.stop());
    const resources = createResources((error) => console.error(error));
    list.push(() => resources.close());
    const driver = openRunControl(here.core, openClientConnection(here.setting, resources), false);
    const app = await openApi(here.core, driver, { resources, log_to: { write() {} } });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    return { here, peer, apis: [here, { alice: clientOf(url, ALICE), anonymous: clientOf(url, null) }] };
  }

  async function refuses({ alice, anonymous }: Scene['apis'][number], other: string, cause: RegExp): Promise<void> {
    const read: string[] = [];
    const named = until('the cause in a refusal', async () => {
      const { status, headers, body } = await alice.post(`/api/workflows/${other}/prompt`, { prompt: 'Now?' });
      expect([status, body.code]).toEqual([503, 'engine_unavailable']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      read.push(body.detail);
      return cause.test(body.detail);
    });
    await named.catch(() => expect([...new Set(read)].join('\n')).toMatch(cause));
    const { status, body } = await anonymous.get('/health/ready');
    expect([status, body.checks.engine.ok]).toEqual([503, false]);
    expect(await alice.ok(alice.get(`/api/workflows/${other}`))).toMatchObject({ task_count: 0 });
  }

  async function holds({ here, peer, apis }: Scene, fault: PeerFault, cause: RegExp): Promise<void> {
    const [other, workflow_id] = [await here.workflow(), await here.workflow(WRITER)];
    const asked = here.model.requests.length;
    here.model.script(asks(bash('echo kept', 'call_1')), says(TEXT, { pause_ms: 150 }));
    const task_id = await here.prompt(workflow_id);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
    await peer.fail(fault);
    for (const api of apis) await refuses(api, other, cause);
    await peer.fail(null);
    expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'completed', response: TEXT });
    expect(here.model.requests.length).toBe(asked + 2);
    expect(rebuildTexts(await here.alice.events(stream))).toEqual({ texts: ['', TEXT], unfinished: '' });
    for (const api of apis) {
      await isReady(api);
      here.model.script(says('Later.'));
      const { task_id: later } = await api.alice.ok(api.alice.post(`/api/workflows/${other}/prompt`, { prompt: 'Now?' }), 201);
      expect(await here.ended(later, PATIENCE_MS)).toMatchObject({ status: 'completed', response: 'Later.' });
    }
  }

  /** The clients repeat calls by themselves until the time is up, and may say only that. */
  const OUT_OF_REACH = /^The workflow engine (is unreachable|did not answer in time|cannot serve now) \(.*TEMPORAL_ADDRESS\)/;
  const answers = (status: number, cause: RegExp): [string, PeerFault, RegExp] => [
    `the status ${status} of gRPC`,
    { at: 'answer', by: grpcStatus(status) },
    cause,
  ];
  const FAULTS = [
    ...causes(ON_THE_WAY, OUT_OF_REACH),
    answers(4, OUT_OF_REACH),
    answers(7, /^The workflow engine refuses this account \(TEMPORAL_API_KEY/),
    answers(8, /^The workflow engine (has more requests than it can serve|did not answer in time)/),
    answers(12, /^What answers at TEMPORAL_ADDRESS is not a workflow engine/),
    answers(14, OUT_OF_REACH),
    answers(16, /^The workflow engine refuses the credentials of TEMPORAL_API_KEY/),
  ];

  describe('without TLS', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await startScene({}, endings);
    });
    afterEach(() => scene.peer.fail(null));
    it.each(FAULTS)('%s: prompts are 503 with the cause, and runs continue afterwards', LIMIT, (_, fault, cause) =>
      holds(scene, fault, cause),
    );
  });

  it(`${PLAIN_FOR_TLS[0]}: prompts are 503 with the cause, and runs continue afterwards`, LIMIT, async () => {
    const list: Endings = [];
    try {
      const { made, tls } = certified(list);
      const env = { TEMPORAL_TLS: 'true', TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.ca };
      Object.assign(process.env, env);
      list.push(() => Object.keys(env).forEach((name) => void delete process.env[name]));
      const cause = /^The workflow engine.*(TEMPORAL_TLS_|TEMPORAL_ADDRESS)/;
      await holds(await startScene({ tls }, list), PLAIN_FOR_TLS[1], cause);
    } finally {
      await tidy(list);
    }
  });
});

describe.runIf(redisIsInstalled())('Redis', () => {
  interface Scene {
    here: TestInstallation;
    peer: FaultyPeer;
  }

  async function startScene(options: WithTls, list: Endings): Promise<Scene> {
    const redis = await redisServer();
    list.push(() => redis.stop());
    const name = options.tls ? 'localhost' : 'faulty-redis.test';
    const peer = await startFaultyPeer({ name, target: new URL(redis.url).host, ...options });
    list.push(() => peer.stop());
    const here = await startTestInstallation({ env: { REDIS_URL: `${options.tls ? 'rediss' : 'redis'}://${peer.host}` } });
    list.push(() => here.stop());
    await isReady(here);
    return { here, peer };
  }

  async function isOnlyAHint({ here, peer }: Scene, fault: PeerFault, cause: RegExp): Promise<void> {
    const [other, workflow_id] = [await here.workflow(), await here.workflow(WRITER)];
    const asked = here.model.requests.length;
    here.model.script(asks(bash('echo kept', 'call_1')), says(TEXT, { pause_ms: 300 }), says('Other.'));
    const task_id = await here.prompt(workflow_id);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    const reading = here.alice.events(stream, { timeout_ms: PATIENCE_MS });
    await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
    await peer.fail(fault);
    // While it fails, everything works.
    const second = await here.prompt(other);
    expect(rebuildTexts(await reading)).toEqual({ texts: ['', TEXT], unfinished: '' });
    expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'completed', response: TEXT });
    expect(await here.ended(second, PATIENCE_MS)).toMatchObject({ status: 'completed', response: 'Other.' });
    expect(here.model.requests.length).toBe(asked + 3);
    const read: string[] = [];
    const named = until('readiness names the cause', async () => {
      const { status, body } = await here.anonymous.get('/health/ready');
      read.push(`${status} ${body.checks.bus.detail}`);
      return status === 503 && !body.checks.bus.ok && cause.test(body.checks.bus.detail);
    });
    await named.catch(() => expect([...new Set(read)].join('\n')).toMatch(cause));
    await peer.fail(null);
    await isReady(here);
  }

  const CAUSE = /REDIS_URL/;
  const ERRORS = [
    'NOAUTH Authentication required.',
    'LOADING Redis is loading the dataset in memory',
    'ERR max number of clients reached',
    "READONLY You can't write against a read only replica.",
  ].map((text): [string, PeerFault] => [`"${text}"`, { at: 'answer', by: redisError(text) }]);
  const FAULTS = causes([...ON_THE_WAY, ...ERRORS], CAUSE);

  describe('without TLS', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await startScene({}, endings);
    });
    afterEach(() => scene.peer.fail(null));
    it.each(FAULTS)('%s: runs and streams work, and readiness names the cause', LIMIT, (_, fault, cause) =>
      isOnlyAHint(scene, fault, cause),
    );
  });

  it(`${PLAIN_FOR_TLS[0]}: runs and streams work, and readiness names the cause`, LIMIT, async () => {
    const list: Endings = [];
    try {
      const { made, tls } = certified(list);
      trust(made, list);
      await isOnlyAHint(await startScene({ tls }, list), PLAIN_FOR_TLS[1], CAUSE);
    } finally {
      await tidy(list);
    }
  });
});

/** A repository that runs check out when they begin. */
async function repositoryFor(list: Endings) {
  const server = await startGitServer();
  list.push(() => server.stop());
  return { env: { REPO_CA_FILE: server.ca_file }, workflow: { repo_url: server.url, repo_branch: 'main' } };
}

/** Returns once the first step of a run was tried twice, and fails if the run has ended. */
async function isHeld(here: TestInstallation, task_id: string): Promise<void> {
  const attempts = async () => {
    const { raw } = await here.driver.client.workflow.getHandle(toRunId(task_id)).describe();
    return Math.max(0, ...(raw.pendingActivities ?? []).map(({ attempt }) => attempt ?? 0));
  };
  const ended = async () => !['pending', 'running'].includes((await taskOf(here, task_id)).status);
  await until('a second try', async () => (await ended()) || (await attempts()) > 1, PATIENCE_MS);
  expect(await taskOf(here, task_id)).toMatchObject({ status: 'running', error: null });
}

/** A run that was held ends as if nothing had happened. */
async function completes(here: TestInstallation, task_id: string, tool: string): Promise<void> {
  const task = await here.ended(task_id, PATIENCE_MS);
  expect(task).toMatchObject({ status: 'completed', response: 'Done.' });
  const results = task.messages.filter(({ role }: { role: string }) => role === 'tool');
  expect(results.at(-1).content).toContain(tool);
}

describe('the bucket', () => {
  interface Scene {
    here: TestInstallation;
    peer: FaultyPeer;
    lines: string[];
    repository: object;
  }

  async function startScene(options: WithTls, list: Endings): Promise<Scene> {
    const store = await startObjectStore();
    list.push(() => store.stop());
    const name = options.tls ? 'localhost' : 'faulty-bucket.test';
    const peer = await startFaultyPeer({ name, target: new URL(store.env.S3_ENDPOINT!).host, ...options });
    list.push(() => peer.stop());
    const home = mkdtempSync(join(tmpdir(), 'perdura-home-'));
    list.push(() => rmSync(home, { recursive: true, force: true }));
    const repository = await repositoryFor(list);
    const S3_ENDPOINT = `${options.tls ? 'https' : 'http'}://${peer.host}`;
    const lines: string[] = [];
    const env = { ...store.env, ...repository.env, S3_ENDPOINT, PERDURA_HOME: home };
    const here = await startTestInstallation({ env, log: (line) => lines.push(line) });
    list.push(() => here.stop());
    return { here, peer, lines, repository: repository.workflow };
  }

  async function holdsCall({ here, peer, lines }: Scene, fault: PeerFault, cause: RegExp): Promise<void> {
    const workflow_id = await here.workflow(WRITER);
    const asked = here.model.requests.length;
    here.model.script(asks(bash('echo kept > file', 'call_1')), asks(bash('cat file', 'call_2')), says('Done.'));
    const before = lines.length;
    await peer.fail(fault);
    const task_id = await here.prompt(workflow_id);
    const logged = () => lines.slice(before).filter((line) => line.includes('A workspace is not stored yet'));
    const noticed = async () => (fault.at === 'silence' ? peer.hits() > 0 : logged().some((line) => cause.test(line)));
    await until('it is noticed', noticed, PATIENCE_MS).catch(() => expect(lines.slice(before).join('\n')).toMatch(cause));
    const { status, messages } = await taskOf(here, task_id);
    expect([status, messages.filter(({ role }: { role: string }) => role === 'tool')]).toEqual(['running', []]);
    await peer.fail(null);
    await completes(here, task_id, 'kept');
    expect(here.model.requests.length).toBe(asked + 3);
    expect(lines.join('\n')).not.toContain('S3RVER');
  }

  async function holdsCheckout({ here, peer, repository }: Scene, fault: PeerFault): Promise<void> {
    const workflow_id = await here.workflow({ ...WRITER, workflow: repository });
    const asked = here.model.requests.length;
    here.model.script(asks(bash('cat README.md', 'call_1')), says('Done.'));
    await peer.fail(fault);
    const task_id = await here.prompt(workflow_id);
    if (fault.at === 'silence') await until('it is asked', async () => peer.hits() > 0);
    else await isHeld(here, task_id);
    await peer.fail(null);
    await completes(here, task_id, 'Hello from the repository.');
    expect(here.model.requests.length).toBe(asked + 2);
  }

  const UNREACHABLE = /The object store \S+ is unreachable: .*\(S3_ENDPOINT\)/;
  const refusal = (status: number, code: string): [string, PeerFault, RegExp] => [
    `${status} ${code}`,
    { at: 'answer', by: s3Refusal(status, code) },
    new RegExp(`The object store \\S+ .*${status} ${code}`),
  ];
  const FAULTS = [
    ...causes(ON_THE_WAY, UNREACHABLE, {
      'a name that is not known': /The object store \S+ is unreachable: .*ENOTFOUND.*\(S3_ENDPOINT\)/,
      'a resolver that is down': /The object store \S+ is unreachable: .*EAI_AGAIN.*\(S3_ENDPOINT\)/,
    }),
    refusal(403, 'InvalidAccessKeyId'),
    refusal(403, 'AccessDenied'),
    refusal(404, 'NoSuchBucket'),
    refusal(429, 'TooManyRequests'),
    refusal(500, 'InternalError'),
    refusal(503, 'SlowDown'),
  ];

  describe('without TLS', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await startScene({}, endings);
    });
    afterEach(() => scene.peer.fail(null));
    it.each(FAULTS)('%s: a call that has written is held, and completes afterwards', LIMIT, (_, fault, cause) =>
      holdsCall(scene, fault, cause),
    );
    it.each(FAULTS)('%s: a run whose repository is to be stored is held, and completes afterwards', LIMIT, (_, fault) =>
      holdsCheckout(scene, fault),
    );
  });

  it(`${PLAIN_FOR_TLS[0]}: calls and checkouts are held, and complete afterwards`, LIMIT, async () => {
    const list: Endings = [];
    try {
      const { made, tls } = certified(list);
      trust(made, list);
      const scene = await startScene({ tls }, list);
      await holdsCall(scene, PLAIN_FOR_TLS[1], UNREACHABLE);
      await holdsCheckout(scene, PLAIN_FOR_TLS[1]);
    } finally {
      await tidy(list);
    }
  });
});

describe('a disk without room', () => {
  const list: Endings = [];
  afterEach(() => tidy(list), 60_000);

  /** Creates empty files until there is room for none: a directory takes no block. The result removes them. */
  function takeNames(folder: string): () => void {
    const made: string[] = [];
    try {
      for (let number = 0; number < 100_000; number += 1) {
        const path = join(folder, `taken-${number}`);
        writeFileSync(path, '');
        made.push(path);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      return () => made.forEach((path) => void rmSync(path));
    }
    throw new Error(`${folder} has room for more than ${made.length} files`);
  }

  it('a call whose workspace cannot be made is held, and completes when there is room', LIMIT, async (test) => {
    const disk = await mountSmallDisk('40m,nr_inodes=2000');
    if (!disk) return test.skip(NO_DISK);
    list.push(disk.remove);
    const here = await startTestInstallation({ env: { PERDURA_HOME: disk.folder } });
    list.push(() => here.stop());
    const workflow_id = await here.workflow(WRITER);
    here.model.script(asks(bash('echo kept > file; cat file', 'call_1')), says('Done.'));
    const giveBack = takeNames(disk.folder);
    const task_id = await here.prompt(workflow_id);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    const seen = await here.alice.events(stream, { enough: ({ data }) => data.event === 'retry', timeout_ms: PATIENCE_MS });
    expect(JSON.stringify(seen.at(-1)!.data)).toContain('The disk is full');
    await isHeld(here, task_id);
    expect(readdirSync(join(disk.folder, 'workspaces'))).toEqual([]);
    giveBack();
    await completes(here, task_id, 'kept');
    expect(here.model.requests.length).toBe(2);
  });

  it('a run whose repository has no place is held, and completes when there is room', LIMIT, async (test) => {
    const disk = await mountSmallDisk('40m,nr_inodes=2000');
    if (!disk) return test.skip(NO_DISK);
    list.push(disk.remove);
    const repository = await repositoryFor(list);
    const here = await startTestInstallation({ env: { PERDURA_HOME: disk.folder, ...repository.env } });
    list.push(() => here.stop());
    const workflow_id = await here.workflow({ ...WRITER, workflow: repository.workflow });
    here.model.script(asks(bash('cat README.md', 'call_1')), says('Done.'));
    const giveBack = takeNames(disk.folder);
    const task_id = await here.prompt(workflow_id);
    await isHeld(here, task_id);
    giveBack();
    await completes(here, task_id, 'Hello from the repository.');
    expect(here.model.requests.length).toBe(2);
  });
});
