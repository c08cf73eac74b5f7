import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localIdentity } from '../../src/identity/providers.ts';
import { type Client, clientOf } from '../support/client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const asked: string[] = [];
const lines: string[] = [];
const made: string[] = [];

beforeAll(async () => {
  const people = localIdentity([
    { login: 'alice', token: ALICE },
    { login: 'bob', token: BOB },
  ]);
  const watched = (token: string) => {
    asked.push(token);
    return people(token);
  };
  const env = { LOG_LEVEL: 'trace', ADMIN_SUBJECTS: 'local:bob' };
  const log = (line: string) => void lines.push(line);
  here = await startTestInstallation({ env, log, setting: { identity_providers: [watched] } });
  here.model.always(says('done'));
});
afterAll(() => here?.stop());

let count = 0;
async function keyOf(
  values: object = {},
  maker: Client = here.alice,
): Promise<{ id: string; client: Client } & Record<string, any>> {
  const body = await maker.ok(maker.post('/api/keys', { name: `key ${++count}`, ...values }), 201);
  made.push(body.key);
  return { ...body, id: body.id, client: clientOf(here.url, body.key) };
}
const status = async (client: Client) => (await client.get('/api/me')).status;
const refused = (client: Client) => until('the refusal', async () => (await status(client)) === 401);
const problem = async (reply: Promise<{ status: number; body: Record<string, any> }>) => {
  const { status: got, body } = await reply;
  return [got, body.code, body.detail];
};

describe('a service key', () => {
  it('is shown once, and acts as its owner', async () => {
    const { id, key, client } = await keyOf();
    expect(key).toMatch(/^pk_[\w-]{54}$/);
    const shown = await here.alice.ok(here.alice.get(`/api/keys/${id}`));
    expect(shown).toMatchObject({
      hint: `${key.slice(0, 6)}…${key.slice(-4)}`,
      scopes: ['read', 'run', 'write'],
      role: 'editor',
    });
    expect(shown).not.toHaveProperty('key');
    const { id: bobs_id } = await keyOf({}, here.bob);
    const listed = async (who: Client) =>
      ((await who.get('/api/keys?limit=200')).body as unknown as { id: string }[]).map((one) => one.id);
    expect(await listed(here.alice)).not.toContain(bobs_id);
    // An administrator.
    expect(await listed(here.bob)).toEqual(expect.arrayContaining([id, bobs_id]));
    expect(await client.ok(client.get('/api/me'))).toMatchObject({ id: 'local:alice', role: 'editor', service_key_id: id });
    const { created_by } = await client.ok(client.post('/api/skills', { name: 'by a key', instructions: 'x' }), 201);
    expect(created_by).toBe('local:alice');
    await until('the note of its use', async () => (await here.alice.get(`/api/keys/${id}`)).body.last_used_at);
  });

  it('is listed for its owner, and all are for an administrator', async () => {
    const name = `listed ${++count}`;
    const [of_alice, of_bob] = [await keyOf({ name }), await keyOf({ name }, here.bob)];
    const listed = async (client: Client) =>
      (await client.ok(client.get(`/api/keys?q=${encodeURIComponent(name)}`))).map(({ id }: { id: string }) => id);
    expect([await listed(here.alice), await listed(here.bob)]).toEqual([[of_alice.id], [of_bob.id, of_alice.id]]);
  });

  it('opens every door', async () => {
    const { client } = await keyOf({ scopes: ['read', 'run'] });
    const id = await here.workflow();
    const { task_id } = await client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'x' }), 201);
    const events = await client.events(`/api/workflows/${id}/stream?task_id=${task_id}`);
    expect(events.some(({ type, data }) => type === 'message' && data.content === 'done')).toBe(true);
    const completion = { model: id, messages: [{ role: 'user', content: 'x' }] };
    expect((await client.ok(client.post('/v1/chat/completions', completion))).choices[0].message.content).toBe('done');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    expect(JSON.stringify(await client.ok(client.post('/mcp', list, headers)))).toContain(id.slice(-8));
  });

  it('may do no more than its scopes and its role', async () => {
    const { client } = await keyOf({ scopes: ['read'] });
    expect(await status(client)).toBe(200);
    const sentence = 'This service key does not have the scope write; use one that has it';
    expect(await problem(client.post('/api/skills', { name: 'x', instructions: 'x' }))).toEqual([403, 'scope_missing', sentence]);
    const viewer = await keyOf({ role: 'viewer' });
    expect((await problem(viewer.client.post('/api/import', { version: '1.0' })))[0]).toBe(403);
    const plain = await keyOf({}, here.bob);
    expect((await plain.client.ok(plain.client.get('/api/me'))).is_admin).toBe(false);
    const { client: admin } = await keyOf({ role: 'administrator' }, here.bob);
    expect((await admin.ok(admin.get('/api/me'))).is_admin).toBe(true);
  });

  it('cannot make, replace or remove one that may more or lasts longer', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const maker = await keyOf({ scopes: ['read', 'keys'], expires_at });
    const strong = await keyOf();
    const fields = async (values: object, by: Client = maker.client) => {
      const { status: got, body } = await by.post('/api/keys', { name: 'more', scopes: ['read'], expires_at, ...values });
      return [got, ...(body.errors ?? []).map(({ path }: { path: string }) => path)];
    };
    expect(await fields({ scopes: ['read', 'run'] })).toEqual([422, 'scopes']);
    expect(await fields({ expires_at: null })).toEqual([422, 'expires_at']);
    expect(await fields({ role: 'administrator' })).toEqual([422, 'role']);
    expect(await fields({ role: 'viewer', scopes: ['write'] }, here.alice)).toEqual([422, 'scopes']);
    expect(await fields({ expires_at: new Date(0).toISOString() }, here.alice)).toEqual([422, 'expires_at']);
    expect((await maker.client.post(`/api/keys/${strong.id}/rotate`, {})).status).toBe(403);
    expect((await maker.client.del(`/api/keys/${strong.id}`)).status).toBe(403);
    expect((await strong.client.post('/api/keys', { name: 'none' })).body.code).toBe('scope_missing');
  });

  it('rotates itself and the keys made with it, directly or not, and no other', async () => {
    const values = { scopes: ['read', 'keys'] };
    const [parent, stranger] = [await keyOf(values), await keyOf(values, here.bob)];
    const self = await keyOf(values, parent.client);
    const sibling = await keyOf(values, parent.client);
    const child = await keyOf(values, self.client);
    const grandchild = await keyOf(values, child.client);
    const rotated = async ({ id }: { id: string }) =>
      (await self.client.post(`/api/keys/${id}/rotate`, { grace_seconds: 600 })).status;
    const statuses: Record<string, number> = {};
    // Itself last: a key that was replaced rotates nothing.
    for (const [name, key] of Object.entries({ sibling, parent, stranger, grandchild, child, self }))
      statuses[name] = await rotated(key);
    expect(statuses).toEqual({ sibling: 403, parent: 403, stranger: 403, grandchild: 201, child: 201, self: 201 });
    const fresh = await keyOf(values);
    expect((await problem(fresh.client.post(`/api/keys/${parent.id}/rotate`, {})))[2]).toContain(
      'only itself and the keys made with it',
    );
    expect((await here.alice.post(`/api/keys/${sibling.id}/rotate`, {})).status).toBe(201);
  });

  // The next ones wait for the seconds in which a process still takes a key for valid, all at the same time.
  it.concurrent('takes the keys made with it along when it is rotated: they end with the replaced key', async () => {
    const values = { scopes: ['read', 'keys'] };
    const parent = await keyOf(values);
    const child = await keyOf(values, parent.client);
    const grandchild = await keyOf(values, child.client);
    const graced = await here.alice.ok(here.alice.post(`/api/keys/${parent.id}/rotate`, { grace_seconds: 600 }), 201);
    made.push(graced.key);
    const until_then = graced.previous_valid_until;
    expect(graced.ending_keys).toEqual([child, grandchild].map(({ id, name }) => ({ id, name, expires_at: until_then })));
    expect(await Promise.all([child, grandchild].map(({ client }) => status(client)))).toEqual([200, 200]);
    const ended = await here.alice.ok(here.alice.post(`/api/keys/${parent.id}/rotate`, {}), 201);
    made.push(ended.key);
    expect(ended.ending_keys.map(({ id }: { id: string }) => id)).toEqual([child.id, grandchild.id]);
    await Promise.all([child, grandchild].map(({ client }) => refused(client)));
    expect(await status(clientOf(here.url, ended.key))).toBe(200);
    const kept = await here.alice.ok(here.alice.get(`/api/keys/${grandchild.id}`));
    expect(Date.parse(kept.expires_at)).toBeLessThanOrEqual(Date.now());
  });

  it.concurrent('may not manage keys once it was replaced, also while it is still valid', async () => {
    const values = { scopes: ['read', 'keys'] };
    const key = await keyOf(values);
    const child = await keyOf(values, key.client);
    made.push((await here.alice.ok(here.alice.post(`/api/keys/${key.id}/rotate`, { grace_seconds: 600 }), 201)).key);
    const rotated = () => key.client.post(`/api/keys/${key.id}/rotate`, {});
    await until('the loss of the scope', async () => (await rotated()).body.code === 'scope_missing');
    expect(await status(key.client)).toBe(200);
    expect((await problem(key.client.post(`/api/keys/${child.id}/rotate`, {})))[1]).toBe('scope_missing');
    expect((await problem(key.client.post('/api/keys', { name: 'late', scopes: ['read'] })))[1]).toBe('scope_missing');
  });

  it.concurrent('makes no key in the seconds in which another process still takes it for valid', async () => {
    const values = { scopes: ['read', 'keys'] };
    const key = await keyOf(values);
    expect(await status(key.client)).toBe(200);
    await here.core.database.pool.query(
      `UPDATE service_keys SET previous_hash = hash, previous_until = now() + interval '1 hour', hash = sha256('other') WHERE id = $1`,
      [key.id],
    );
    const late = [await key.client.post('/api/keys', { name: 'late', scopes: ['read'] })];
    late.push(await key.client.post(`/api/keys/${key.id}/rotate`, {}));
    expect(late.map(({ status: got }) => got)).toEqual([403, 403]);
  });

  it.concurrent('does not outlive the key that made it, whatever its row says', async () => {
    const parent = await keyOf({ scopes: ['read', 'keys'] });
    const child = await keyOf({ scopes: ['read', 'keys'] }, parent.client);
    const grandchild = await keyOf({ scopes: ['read'] }, child.client);
    await here.core.database.pool.query('UPDATE service_keys SET expires_at = now() WHERE id = $1', [parent.id]);
    await Promise.all([parent, child, grandchild].map(({ client }) => refused(client)));
  });

  it.concurrent('ends with its deletion, its rotation or its time, within seconds, and takes along the keys made with it', async () => {
    const parent = await keyOf({ scopes: ['read', 'keys'] });
    const child = await keyOf({ scopes: ['read'] }, parent.client);
    const [lasting, replaced] = [await keyOf(), await keyOf()];
    const expiring = await keyOf({ expires_at: new Date(Date.now() + 2_500).toISOString() });
    const open = expiring.client.events(`/api/workflows/${await here.workflow()}/stream`);
    const old = [parent, child, lasting, replaced, expiring].map(({ client }) => client);
    expect(await Promise.all(old.map(status))).toEqual([200, 200, 200, 200, 200]);
    await here.bob.ok(here.bob.del(`/api/keys/${parent.id}`), 204);
    const rotate = (id: string, grace_seconds: number) =>
      here.alice.ok(here.alice.post(`/api/keys/${id}/rotate`, { grace_seconds }), 201);
    const fresh = [await rotate(lasting.id, 600), await rotate(replaced.id, 0)].map(({ key }) => key as string);
    made.push(...fresh);
    await Promise.all([parent, child, replaced, expiring].map(({ client }) => refused(client)));
    await open;
    expect(await status(lasting.client)).toBe(200);
    expect(await Promise.all(fresh.map((key) => status(clientOf(here.url, key))))).toEqual([200, 200]);
    expect((await here.alice.get(`/api/keys/${child.id}`)).status).toBe(404);
    expect((await here.alice.post(`/api/keys/${expiring.id}/rotate`, {})).body.code).toBe('key_expired');
  });

  it.concurrent('starts the runs of a schedule that was saved with it, until it is deleted', async () => {
    const { id, client } = await keyOf();
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: 'by a key', workflow_id: await here.workflow(), prompt: 'x', interval_value: 1, interval_unit: 'weeks' };
    const schedule = await client.ok(client.post('/api/scheduled-agents', { ...body, start_at }), 201);
    const outcomes = async () => {
      await here.alice.post(`/api/scheduled-agents/${schedule.id}/trigger`);
      const { body: runs } = await here.alice.get(`/api/scheduled-agents/${schedule.id}/runs`);
      return runs.map(({ outcome }: { outcome: string }) => outcome);
    };
    expect(await outcomes()).toEqual(['triggered']);
    await here.alice.ok(here.alice.del(`/api/keys/${id}`), 204);
    await refused(client);
    expect((await outcomes())[0]).toBe('failed');
    const writer = await keyOf({ scopes: ['read', 'write'] });
    const path = `/api/scheduled-agents/${schedule.id}`;
    await writer.client.ok(writer.client.patch(path, { prompt: 'y' }));
    await outcomes();
    expect((await here.alice.get(`${path}/runs`)).body[0].detail).toContain('does not have the scope run');
  });

  it('reaches neither an identity provider nor a model, and is nowhere on record', async () => {
    const { client } = await keyOf();
    const agent = await here.alice.ok(here.alice.post('/api/agents', { name: 'without a provider' }), 201);
    const workflow = await client.ok(client.post('/api/workflows', { agent_id: agent.id }), 201);
    const { task_id } = await client.ok(client.post(`/api/workflows/${workflow.id}/prompt`, { prompt: 'x' }), 201);
    expect(await here.ended(task_id)).toMatchObject({ status: 'failed', error_code: 'service_key_not_sent' });
    expect(await problem(client.get('/api/models'))).toEqual([
      502,
      'models_unavailable',
      expect.stringContaining('never leaves'),
    ]);
    const history = await here.driver.client.workflow.getHandle(`task-${task_id}`).fetchHistory();
    const { pool } = here.core.database;
    const { rows: tables } = await pool.query(
      `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
    );
    const stored = await Promise.all(
      tables.map(async ({ relname }) => (await pool.query(`SELECT t::text FROM ${relname} t`)).rows),
    );
    const read = (_: string, value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value);
    const foundIn = (place: unknown) => made.filter((key) => JSON.stringify(place, read).includes(key));
    expect([asked, lines, stored, history, here.model.requests].map(foundIn)).toEqual([[], [], [], [], []]);
    expect([asked, lines, stored, here.model.requests].map(({ length }) => length > 0)).toEqual([true, true, true, true]);
    expect(made.length).toBeGreaterThan(10);
  });
});
