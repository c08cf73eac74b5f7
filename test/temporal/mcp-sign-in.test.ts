import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { rows } from '../../src/store/database/database.ts';
import { sealedSamples } from '../../src/store/database/installation.sql.ts';
import type { Sealed } from '../../src/store/secrets/key-ring.ts';
import { toRunId } from '../../src/temporal/names.ts';
import { clientOf } from '../support/client.ts';
import { fullFor } from '../support/database/full-table.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { consent, type OAuthMcpServer, signIn, startOAuthMcpServer } from '../support/peers/oauth-mcp-server.ts';

let here: TestInstallation;
let remote: OAuthMcpServer;
const lines: string[] = [];
beforeAll(async () => {
  remote = await startOAuthMcpServer();
  here = await startTestInstallation({
    env: { LOG_LEVEL: 'debug' },
    setting: { public_url: () => here.url },
    log: (line) => lines.push(line),
  });
});
afterAll(async () => {
  await here?.stop();
  await remote?.stop();
});

let made = 0;
let server: string;
beforeEach(async () => {
  server = await serverAt(remote.url);
  Object.assign(remote, { renewal_ms: 0, is_down: false });
});

async function serverAt(url: string, more: object = {}): Promise<string> {
  const values = { name: `signed ${++made}`, transport_type: 'http', connection_config: { url }, ...more };
  return (await here.alice.ok(here.alice.post('/api/mcps', values), 201)).id;
}

const as = (account: string, client = here.alice, id = server) => {
  remote.account = account;
  return signIn(client, id);
};
const seenBy = async (client = here.alice, id = server) => (await client.ok(client.get(`/api/mcps/${id}`))).sign_in;
const tested = (client = here.alice, id = server) => client.ok(client.post(`/api/mcps/${id}/test`));

/** A run of Alice that calls a tool of the server; what the tool returned. */
async function called(name: string, id = server) {
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
  here.model.script(asks({ name }), says('done'));
  const task = await here.ended(await here.prompt(workflow_id));
  return { task, result: await resultOf(task.id) };
}
const resultOf = async (task_id: string) => {
  const { rows } = await here.core.database.pool.query(
    `SELECT content FROM task_messages WHERE task_id = $1 AND role = 'tool' ORDER BY step, position`,
    [task_id],
  );
  return rows[0]?.content as string | undefined;
};

it('a server that takes only people who signed in is reported, and a run that requires it fails at once', async () => {
  expect(await seenBy()).toBe(null);
  const { success, error } = await tested();
  expect({ success, error }).toEqual({ success: false, error: expect.stringMatching(/^mcp_sign_in_needed: .*choose Sign in/) });
  const workflow_id = await here.workflow({ agent: { required_mcp_servers: [server] } });
  const asked = here.model.requests.length;
  const task = await here.ended(await here.prompt(workflow_id));
  expect(task).toMatchObject({ status: 'failed', error_code: 'mcp_sign_in_needed' });
  expect(here.model.requests.length).toBe(asked);
});

it('a person signs in, and their runs use their account', async () => {
  const { authorization_url, expires_at } = await here.alice.ok(here.alice.post(`/api/mcps/${server}/sign-in`), 201);
  const asked = new URL(authorization_url).searchParams;
  expect(Object.fromEntries(asked)).toMatchObject({ code_challenge_method: 'S256', response_type: 'code', resource: remote.url });
  expect(asked.get('code_challenge')).toMatch(/^[\w-]{43}$/);
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
  remote.account = 'alice@remote';
  const finished = await here.alice.ok(here.alice.post('/api/mcps/sign-in', await consent(authorization_url)), 200);
  expect(finished).toEqual({ server_id: server, signed_in_at: expect.any(String), expires_at: expect.any(String), renews: true });
  expect(remote.exchanges.at(-1)?.resource).toBe(remote.url);
  const { server_id: _, ...shown } = finished;
  expect(await seenBy()).toEqual(shown);
  expect(await tested()).toMatchObject({ success: true, tools: ['whoami', 'reveal'] });
  const { task, result } = await called('whoami');
  expect([task.status, result]).toEqual(['completed', 'alice@remote']);
});

it('nobody else uses the sign-in, of a server that they share', async () => {
  await as('alice@remote');
  expect(await seenBy(here.bob)).toBe(null);
  expect((await tested(here.bob)).error).toMatch(/^mcp_sign_in_needed: .*local:bob/);
  const listed = async (client: typeof here.alice) => (await client.ok(client.get(`/api/mcps/${server}/tools`))).tools.length;
  expect((await tested()).success).toBe(true);
  expect([await listed(here.alice), await listed(here.bob)]).toEqual([2, 0]);
  await as('bob@remote', here.bob);
  expect((await tested(here.bob)).success).toBe(true);
  expect(await listed(here.bob)).toBe(2);
  expect((await called('whoami')).result).toBe('alice@remote');
  await here.bob.ok(here.bob.del(`/api/mcps/${server}/sign-in`), 204);
  expect([await seenBy(here.bob), (await seenBy()).renews]).toEqual([null, true]);
});

it('a state is taken once, and only from the person who began', async () => {
  const begin = async () =>
    (await here.alice.ok(here.alice.post(`/api/mcps/${server}/sign-in`), 201)).authorization_url as string;
  const finish = async (answer: object, client = here.alice) => {
    const { status, body } = await client.post('/api/mcps/sign-in', answer);
    return [status, body.code];
  };
  const expired = [409, 'mcp_sign_in_expired'];
  const first = await consent(await begin());
  expect(await finish(first, here.bob)).toEqual(expired);
  expect(await finish(first)).toEqual(expired);
  const { key } = await here.alice.ok(here.alice.post('/api/keys', { name: `other session ${++made}` }), 201);
  expect(await finish(await consent(await begin()), clientOf(here.url, key))).toEqual(expired);
  const second = await consent(await begin());
  expect((await finish(second))[0]).toBe(200);
  expect(await finish(second)).toEqual(expired);
  expect(await finish({ server_id: server, state: 'made-up', code: 'made-up' })).toEqual(expired);
  const late = await consent(await begin());
  await here.core.database.pool.query(`UPDATE mcp_sign_in_attempts SET expires_at = now() - interval '1 second'`);
  expect(await finish(late)).toEqual(expired);
  expect(await seenBy(here.bob)).toBe(null);
});

it('a code from another sign-in does not fit the verifier, and is refused', async () => {
  const begin = async () =>
    (await here.alice.ok(here.alice.post(`/api/mcps/${server}/sign-in`), 201)).authorization_url as string;
  const [mine, planted] = [await consent(await begin()), await consent(await begin())];
  const { status, body } = await here.alice.post('/api/mcps/sign-in', { ...mine, code: planted.code });
  expect([status, body.code]).toEqual([502, 'mcp_sign_in_failed']);
  expect(await seenBy()).toBe(null);
});

it('an answer of another issuer is refused', async () => {
  const { authorization_url } = await here.alice.ok(here.alice.post(`/api/mcps/${server}/sign-in`), 201);
  const answer = { ...(await consent(authorization_url)), iss: 'https://other.example' };
  const { status, body } = await here.alice.post('/api/mcps/sign-in', answer);
  expect([status, body.code]).toEqual([403, 'mcp_sign_in_issuer']);
});

it('tokens are renewed once, however many calls need them at the same time', async () => {
  await as('alice@remote');
  const before = remote.renewals;
  remote.expire();
  remote.renewal_ms = 300;
  const results = await Promise.all([called('whoami'), ...Array.from({ length: 4 }, () => tested())]);
  expect(results.slice(1)).toEqual(Array(4).fill(expect.objectContaining({ success: true })));
  expect(results[0]).toMatchObject({ result: 'alice@remote' });
  expect(remote.renewals - before).toBe(1);
});

it('a token that is about to expire is renewed before it is sent', async () => {
  await as('alice@remote');
  const before = remote.renewals;
  await here.core.database.pool.query('UPDATE mcp_sign_ins SET expires_at = now() WHERE server_id = $1', [server]);
  expect((await tested()).success).toBe(true);
  expect(remote.renewals - before).toBe(1);
  expect(Date.parse((await seenBy()).expires_at)).toBeGreaterThan(Date.now() + 60_000);
});

it('a sign-in that cannot be renewed ends, and the call says who has to sign in', async () => {
  await as('alice@remote');
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server] } });
  const asked = asks({ name: 'whoami' });
  // The tools were listed before the model is asked; the sign-in ends before they are called.
  here.model.script(
    (...request) => {
      remote.revoke();
      return asked(...request);
    },
    asks({ name: 'whoami', id: 'again' }),
    says('done'),
  );
  const task = await here.ended(await here.prompt(workflow_id));
  expect(task.status).toBe('completed');
  const { rows } = await here.core.database.pool.query('SELECT attempts, failed FROM tool_calls WHERE task_id = $1', [task.id]);
  expect(rows).toEqual(Array(2).fill({ attempts: 1, failed: true }));
  expect(await resultOf(task.id)).toMatch(/^mcp_sign_in_needed: .*local:alice.*choose Sign in/);
  expect(await seenBy()).toBe(null);
});

it('a sign-in survives that its server cannot renew it at the moment', async () => {
  await as('alice@remote');
  remote.expire();
  remote.is_down = true;
  expect((await tested()).error).toMatch(/cannot be renewed: Not now/);
  remote.is_down = false;
  expect((await tested()).success).toBe(true);
});

it('a sign-in survives that the database has no room for its new tokens at the moment', async () => {
  await as('alice@remote');
  const before = remote.renewals;
  remote.expire();
  const full = await fullFor(here.core.database.pool, 'mcp_sign_ins', 'NEW.sealed <> OLD.sealed');
  const testing = tested();
  await expect.poll(full.refused, { timeout: 20_000 }).toBeGreaterThan(1);
  await full.end();
  expect((await testing).success).toBe(true);
  expect(remote.renewals - before).toBe(1);
  remote.expire();
  expect((await tested()).success).toBe(true);
});

it('a lease of a process that was lost ends, also after the clock was set back', async () => {
  await as('alice@remote');
  remote.expire();
  const lease = `UPDATE mcp_sign_ins SET lease = gen_random_uuid(), leased_until = now() + interval '1 day' WHERE server_id = $1`;
  await here.core.database.pool.query(lease, [server]);
  expect((await tested()).success).toBe(true);
});

it.each([1e300, -5])('a server that says tokens live for %d seconds is signed in to', async (expires_in) => {
  const odd = await startOAuthMcpServer({ expires_in });
  try {
    const id = await serverAt(odd.url);
    odd.account = 'alice@odd';
    await signIn(here.alice, id);
    expect(await tested(here.alice, id)).toMatchObject({ success: true, error: null });
    odd.expire();
    expect(await tested(here.alice, id)).toMatchObject({ success: true, error: null });
  } finally {
    await odd.stop();
  }
});

it('a disconnected person has to sign in again', async () => {
  await as('alice@remote');
  await here.alice.ok(here.alice.del(`/api/mcps/${server}/sign-in`), 204);
  expect(await seenBy()).toBe(null);
  expect((await tested()).error).toMatch(/^mcp_sign_in_needed/);
});

it('a token goes only to the address that it was made for, also while its row is there', async () => {
  await as('alice@remote');
  const other = await startOAuthMcpServer();
  const moved = `UPDATE mcp_servers SET connection_config = jsonb_build_object('url', $2::text) WHERE id = $1`;
  await here.core.database.pool.query(moved, [server, other.url]);
  expect((await tested()).error).toMatch(/^mcp_sign_in_needed/);
  expect(other.authorizations.filter((sent) => sent !== undefined)).toEqual([]);
  await other.stop();
});

it('a server that moves gets no tokens of its old address', async () => {
  await as('alice@remote');
  const other = await startOAuthMcpServer();
  await here.alice.ok(here.alice.put(`/api/mcps/${server}`, { connection_config: { url: other.url } }));
  expect(await seenBy()).toBe(null);
  expect((await tested()).error).toMatch(/^mcp_sign_in_needed/);
  expect((await here.core.database.pool.query('SELECT 1 FROM mcp_sign_ins WHERE server_id = $1', [server])).rowCount).toBe(0);
  await other.stop();
});

it('a configured client is used instead of a registered one', async () => {
  const oauth = { client_id: 'known', client_secret: 'secret-of-the-client' };
  const id = await serverAt(remote.url, { connection_config: { url: remote.url, oauth } });
  remote.clients.set('known', { ...oauth, redirect_uris: [`${here.url}/api/mcps/${id}/sign-in/callback`] });
  const registered = remote.clients.size;
  expect(JSON.stringify(await here.alice.ok(here.alice.get(`/api/mcps/${id}`)))).not.toContain('secret-of-the-client');
  await as('alice@remote', here.alice, id);
  expect(await tested(here.alice, id)).toMatchObject({ success: true });
  expect(remote.clients.size).toBe(registered);
  expect(remote.exchanges.at(-1)?.client_id).toBe('known');
});

it('servers without a sign-in are refused by their reason', async () => {
  const begun = async (id: string) => {
    const { status, body } = await here.alice.post(`/api/mcps/${id}/sign-in`);
    return [status, body.code];
  };
  const keyed = { connection_config: { url: remote.url, headers: { Authorization: 'Bearer x' } } };
  expect(await begun(await serverAt(remote.url, keyed))).toEqual([422, 'mcp_sign_in_not_offered']);
  expect(await begun(await serverAt('http://10.1.2.3/mcp'))).toEqual([502, 'mcp_sign_in_failed']);
  expect(await begun(await serverAt(`${here.model.url}/mcp`))).toEqual([502, 'mcp_sign_in_failed']);
});

it('a disabled server gives a run no tools, and fails one that requires it', async () => {
  await as('alice@remote');
  await here.alice.ok(here.alice.put(`/api/mcps/${server}`, { is_enabled: false }));
  here.model.script(says('done'));
  const without = await here.ended(await here.prompt(await here.workflow({ agent: { mcp_server_ids: [server] } })));
  expect([without.status, here.model.requests.at(-1)?.tools]).toEqual(['completed', undefined]);
  const log = without.logs.find(({ event }: { event: string }) => event === 'tools_not_offered');
  expect(JSON.stringify(log)).toContain('is disabled; enable it');
  const failed = await here.ended(await here.prompt(await here.workflow({ agent: { required_mcp_servers: [server] } })));
  expect(failed).toMatchObject({ status: 'failed', error: expect.stringContaining('is disabled; enable it') });
});

it('no token leaves its place', async () => {
  await as('alice@remote');
  const { task, result } = await called('reveal');
  expect(result).toMatch(/^It is (?!access-)\S+\.$/);
  const { rows } = await here.core.database.pool.query(
    `SELECT e.data::text AS text FROM events e WHERE e.task_id = $1
      UNION ALL SELECT m.content::text FROM task_messages m WHERE m.task_id = $1
      UNION ALL SELECT d.body::text FROM definitions d UNION ALL SELECT t::text FROM mcp_sign_ins t`,
    [task.id],
  );
  const history = await here.driver.client.workflow.getHandle(toRunId(task.id)).fetchHistory();
  const bundle = await here.alice.ok(here.alice.get(`/api/tasks/${task.id}/bundle`));
  const audit = await here.core.database.pool.query('SELECT a::text AS text FROM audit_entries a');
  const said = [rows, history, bundle, audit.rows, lines, await here.alice.ok(here.alice.get('/api/export'))].map((one) =>
    JSON.stringify(one),
  );
  const hex = (text: string) => Buffer.from(text).toString('hex');
  const leaked = [...remote.issued].filter((token) => said.some((text) => [token, hex(token)].some((one) => text.includes(one))));
  expect([remote.issued.size > 0, leaked]).toEqual([true, []]);
  expect(lines.some((line) => line.includes('/sign-in/callback'))).toBe(true);
  expect(lines.filter((line) => /code=/.test(line))).toEqual([]);
});

it('a sign-in that nobody finished is removed when it expires', async () => {
  const { store, database } = here.core;
  await here.alice.ok(here.alice.post(`/api/mcps/${server}/sign-in`), 201);
  const left = async () =>
    (await database.pool.query('SELECT 1 FROM mcp_sign_in_attempts WHERE server_id = $1', [server])).rowCount;
  const sweep = async (now: Date) => void (await store.retention.transient(now).mcp_sign_in_attempts?.());
  await sweep(new Date());
  expect(await left()).toBe(1);
  await sweep(new Date(Date.now() + 11 * 60_000));
  expect(await left()).toBe(0);
});

it('the check of the key ring opens a sign-in, too', async () => {
  await as('alice@remote');
  const { keys, database } = here.core;
  const samples = await rows<Sealed & { context: string }>(database.pool, sealedSamples());
  const signed = samples.filter(({ context }) => context.startsWith('mcp-sign-in:'));
  expect(signed).toHaveLength(1);
  for (const { context, ...sample } of signed) expect(JSON.parse(keys.openQuietly(sample, context))).toHaveProperty('tokens');
});
