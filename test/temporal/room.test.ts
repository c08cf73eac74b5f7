import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { rebuilt } from '../support/client.ts';
import { testDatabase } from '../support/database.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/model-server.ts';
import { until } from '../support/until.ts';

const FULL_MS = 6_000;

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
}, 60_000);

async function opened(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  endings.push(() => client.end());
  return client;
}

async function installation(database_url: string): Promise<TestInstallation> {
  const here = await startTestInstallation({ setting: { database_url } });
  endings.push(() => here.stop());
  return here;
}

interface Room {
  code: string;
  detail: RegExp;
  take(): Promise<unknown>;
  giveBack(): Promise<unknown>;
}

/** More than fits into the pages that the database has. */
const LONG = Array.from({ length: 2_000 }, () => randomBytes(24).toString('hex')).join(' ');

/** A run in progress when space runs out ends normally later. Nothing new starts in the meantime. */
async function holdsRuns(here: TestInstallation, { code, detail, take, giveBack }: Room): Promise<void> {
  const [workflow_id, other] = [await here.workflow(), await here.workflow()];
  const text = `One two three four five six. ${LONG}`;
  here.model.script(says(text, { pause_ms: 1 }), says(text));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  await take();
  // Connections that were cut are found out one by one, and each is a 503 with its own code.
  await until(`a refusal ${code}`, async () => {
    const answer = await here.alice.post(`/api/workflows/${other}/prompt`, { prompt: LONG });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    return answer.body.code === code;
  });
  const skill = await here.alice.post('/api/skills', { name: code, instructions: LONG });
  expect([skill.status, skill.body.code]).toEqual([503, code]);
  const ready = await here.anonymous.get('/health/ready');
  expect([ready.status, ready.body.checks.database]).toEqual([503, { ok: false, detail: expect.stringMatching(detail) }]);
  await wait(FULL_MS);
  const asked = here.model.requests.length;
  expect(asked).toBe(1);
  await giveBack();
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: text });
  expect(here.model.requests.length).toBe(asked);
  expect(rebuilt(await here.alice.events(stream))).toEqual({ texts: [text], unfinished: '' });
  expect(await here.alice.ok(here.alice.get(`/api/workflows/${other}`))).toMatchObject({ task_count: 0 });
  await until('the installation is ready again', async () => (await here.anonymous.get('/health/ready')).status === 200);
}

it('used-up connections hold runs, refuse prompts and are named by readiness', { timeout: 120_000 }, async () => {
  const { url, drop } = await testDatabase();
  endings.push(drop);
  const operator = await opened(url);
  const role = `limited_${randomBytes(4).toString('hex')}`;
  await operator.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'`);
  endings.push(() => operator.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
  await operator.query(
    `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
  );
  const limited = new URL(url);
  Object.assign(limited, { username: role, password: 'limited' });
  await holdsRuns(await installation(limited.href), {
    code: 'too_many_connections',
    detail: /too many connections/,
    async take() {
      await operator.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      await operator.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
    },
    giveBack: () => operator.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
  });
});

/** A separate file system with room for a database and little more; null if this process may not mount one. */
async function smallDisk(): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-disk-'));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'perdura-test', folder]).status !== 0) return null;
  endings.push(() => spawnSync('umount', [folder]));
  return folder;
}

/** Takes all room that is left. */
async function fill(file: string): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (const size of [65_536, 4_096, 1]) {
      const block = Buffer.alloc(size, 1);
      while (
        await handle.write(block).then(
          ({ bytesWritten }) => bytesWritten === size,
          () => false,
        )
      );
    }
  } finally {
    await handle.close();
  }
}

describe('a full disk', () => {
  it('holds runs, refuses prompts and is named by readiness', { timeout: 120_000 }, async (test) => {
    const folder = await smallDisk();
    if (!folder) return test.skip('this process may not mount a file system');
    const server = await opened(inject('postgres_url'));
    const { rows } = await server.query<{ data_directory: string }>('SHOW data_directory');
    const { uid, gid } = await stat(rows[0]!.data_directory);
    await chown(folder, uid, gid);
    const name = `small_${randomBytes(4).toString('hex')}`;
    await server.query(`CREATE TABLESPACE ${name} LOCATION '${folder}'`);
    endings.push(() => server.query(`DROP TABLESPACE ${name}`));
    await server.query(`CREATE DATABASE ${name} TEMPLATE template_perdura TABLESPACE ${name}`);
    endings.push(() => server.query(`DROP DATABASE ${name} WITH (FORCE)`));
    const url = new URL(inject('postgres_url'));
    url.pathname = name;
    const ballast = join(folder, 'ballast');
    await holdsRuns(await installation(url.href), {
      code: 'disk_full',
      detail: /disk is full/,
      take: () => fill(ballast),
      giveBack: () => rm(ballast),
    });
  });
});
