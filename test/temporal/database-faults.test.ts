import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { testDatabase } from '../support/database/database.ts';
import { type Fault, type FaultyPostgres, startFaultyPostgres } from '../support/database/faulty-postgres.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { throughProxy } from '../support/peers/dropping-proxy.ts';
import { says } from '../support/peers/model-server.ts';
import { someOf } from '../support/some-of.ts';
import { until } from '../support/until.ts';

const endings: (() => Promise<unknown>)[] = [];
let here: TestInstallation;
let postgres: FaultyPostgres;
beforeAll(async () => {
  const database = await testDatabase();
  endings.push(() => database.drop());
  postgres = await startFaultyPostgres(inject('postgres_url'));
  endings.push(async () => postgres.stop());
  const setting = { database_url: throughProxy(database.url, { url: postgres.host } as never) };
  here = await startTestInstallation({ setting });
  endings.push(() => here.stop());
});
afterEach(() => postgres.fail(null));
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

const UNREACHABLE = /^The database is unreachable/;

/** What a connection and a statement can fail with, and what people read then. */
const FAULTS: [string, Fault, RegExp][] = [
  ['a closed port', { at: 'port' }, UNREACHABLE],
  ['broken connections', { at: 'socket' }, UNREACHABLE],
  ['a name that is not known', { at: 'name', code: 'ENOTFOUND' }, /^The host of DATABASE_URL cannot be resolved/],
  ['a resolver that is down', { at: 'name', code: 'EAI_AGAIN' }, /^The host of DATABASE_URL cannot be resolved/],
  ['a route that leads nowhere', { at: 'name', code: 'EHOSTUNREACH' }, UNREACHABLE],
  ['a network that is down', { at: 'name', code: 'ENETUNREACH' }, UNREACHABLE],
  ['a connection that takes too long', { at: 'name', code: 'ETIMEDOUT' }, /^The database did not answer in time/],
  ['another password', { at: 'startup', code: '28P01' }, /^The database refuses the password of DATABASE_URL/],
  ['a role that was removed', { at: 'startup', code: '28000' }, /^The database refuses the user of DATABASE_URL/],
  ['a role that may not connect', { at: 'startup', code: '42501' }, /^The database refuses the user of DATABASE_URL/],
  ['a database that was dropped', { at: 'startup', code: '3D000' }, /^The database that DATABASE_URL names does not exist/],
  ['too many connections', { at: 'startup', code: '53300' }, /^The database has too many connections/],
  ['a server that is starting', { at: 'startup', code: '57P03' }, /^The database is starting or stopping/],
  ['a setting that the server does not know', { at: 'startup', code: '22023' }, UNREACHABLE],
  ['statement_timeout', { at: 'statement', code: '57014' }, /statement_timeout/],
  ['lock_timeout', { at: 'statement', code: '55P03' }, /lock_timeout/],
  ['an object in another state', { at: 'statement', code: '55000' }, /^The database does not serve now \(SQLSTATE 55000\)/],
  ['a standby', { at: 'statement', code: '25006' }, /^The database accepts no writes now/],
  ['a pooler that lost a prepared statement', { at: 'statement', code: '26000' }, /DATABASE_DIRECT_URL/],
  ['a pooler that has one twice', { at: 'statement', code: '42P05' }, /DATABASE_DIRECT_URL/],
  ['a plan that is outdated', { at: 'statement', code: '0A000' }, /^The database changed/],
  ['rights that were taken', { at: 'statement', code: '42501' }, /^The user of DATABASE_URL lacks rights/],
  ['tables that are being restored', { at: 'statement', code: '42P01' }, /lacks tables, columns or functions/],
  ['competing statements', { at: 'statement', code: '40P01' }, /^The database had to break off competing statements/],
  ['a full disk', { at: 'statement', code: '53100' }, /^The disk is full: the database/],
  ['damaged files', { at: 'statement', code: 'XX001' }, /damaged/],
  ['a class that nobody knows', { at: 'statement', code: 'F0Z99' }, /SQLSTATE F0Z99/],
];

/** Connections that were cut are found out one by one, and each is a 503 with its own code. */
const CODES = ['database_unavailable', 'too_many_connections', 'disk_full'];

const TEXT = 'One two three four five six seven eight nine ten.';

it.each(someOf(FAULTS, 5))(
  '%s: requests are 503 with the cause, and a run in progress is held',
  { timeout: 90_000 },
  async (_, fault, cause) => {
    const other = await here.workflow();
    const workflow_id = await here.workflow();
    const asked = here.model.requests.length;
    here.model.script(says(TEXT, { pause_ms: 150 }));
    const task_id = await here.prompt(workflow_id);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
    await postgres.fail(fault);
    await until('the cause in a refusal', async () => {
      const answers = [
        await here.alice.post(`/api/workflows/${other}/prompt`, { prompt: 'Now?' }),
        await here.alice.get(`/api/workflows/${other}`),
        await here.alice.post('/api/skills', { name: `fault ${fault.at}`, instructions: 'x' }),
      ];
      for (const { status, headers, body } of answers) {
        expect([status, CODES.includes(body.code)]).toEqual([503, true]);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(JSON.stringify(body)).not.toContain('secret-of-a-statement');
      }
      return answers.every(({ body }) => cause.test(body.detail));
    });
    const ready = await here.anonymous.get('/health/ready');
    expect([ready.status, ready.body.checks.database]).toEqual([503, { ok: false, detail: expect.stringMatching(cause) }]);
    // What the model has said meanwhile cannot be written.
    const hits = postgres.hits();
    if (fault.at !== 'port') await until('more tries', async () => postgres.hits() > hits + 3);
    await postgres.fail(null);
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: TEXT });
    expect(here.model.requests.length).toBe(asked + 1);
    await until('the installation is ready again', async () => (await here.anonymous.get('/health/ready')).status === 200);
  },
);
