import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRET_HOLDERS } from '../../src/domain/destinations.ts';
import { doctorChecks } from '../../src/main/doctor-checks.ts';
import { rows } from '../../src/store/database/database.ts';
import { createStore } from '../../src/store/index.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { tokensOfRun } from '../../src/store/secrets/tokens.sql.ts';
import { rotateKeys } from '../../src/store/upkeep/rotation.ts';
import type { Client } from '../support/client.ts';
import { HOLDERS, type SecretWorld, startSecretWorld, unique } from '../support/contract/secret-world.ts';

let world: SecretWorld;
beforeAll(async () => {
  world = await startSecretWorld({ fails_inside: true, worker: false, env: { SHARED_WRITE: 'everyone' } });
});
afterAll(() => world.stop());

async function tokenOf(as: Client, more: object = {}) {
  const name = unique('key');
  const value = `canary-${name}-of-the-grants`;
  const { id } = await as.ok(as.post('/api/tokens', { name, value, ...more }), 201);
  return { id: id as string, name, value, path: `/api/tokens/${id}` };
}
const listOf = async (as: Client, path: string) => (await as.get(path)).body as unknown as Record<string, any>[];

describe('a stored token', () => {
  it('that takes the name of one that a run used before is not one of those of the run', async () => {
    const { pool } = world.here.core.database;
    const [before, later] = [await tokenOf(world.alice), unique('later')];
    const task_id = await world.here.prompt(await world.here.workflow());
    const met = async () =>
      (await rows<{ met: boolean }>(pool, tokensOfRun({ task_id, names: [], principal: 'local:alice' }))).length;
    await pool.query(
      `INSERT INTO token_uses (id, token_name, principal, purpose, task_id, granted) VALUES ($1, $2, 'local:alice', 'x', $3, true)`,
      [uuid(), before.name, task_id],
    );
    expect(await met()).toBe(1);
    await world.alice.ok(world.alice.del(before.path), 204);
    await world.bob.ok(world.bob.post('/api/tokens', { name: before.name, value: later }), 201);
    expect(await met()).toBe(0);
  });

  it('is read, changed, shared and deleted by its owner alone, even where everyone may change what is shared', async () => {
    const { alice, bob } = world;
    const { id, path, name } = await tokenOf(alice);
    expect((await listOf(alice, '/api/tokens')).map((token) => token.id)).toContain(id);
    expect((await listOf(bob, '/api/tokens')).map((token) => token.id)).not.toContain(id);
    const tries = [bob.get(path), bob.put(path, { shared: true }), bob.put(path, { value: 'mine' }), bob.del(path)];
    const more = [bob.get(`${path}/uses`), bob.get(`${path}/grants`), bob.del(`${path}/grants/${id}`)];
    const grant = bob.post(`${path}/grants`, { resource_type: 'provider', resource_id: id, destination: 'x' });
    for (const { status } of await Promise.all([...tries, ...more, grant])) expect(status).toBe(403);
    expect(await alice.ok(alice.get(path))).toMatchObject({ name, shared: false });
  });

  it('is seen and deleted by an administrator, who neither changes, shares nor sends it', async () => {
    const { alice, root } = world;
    const { id, path } = await tokenOf(alice, { description: 'for the bank' });
    expect((await listOf(root, '/api/tokens')).map((token) => token.id)).toContain(id);
    const tries = [root.put(path, { shared: true }), root.get(`${path}/uses`), root.get(`${path}/grants`)];
    for (const { status } of await Promise.all(tries)) expect(status).toBe(403);
    const seen = await root.ok(root.get(path));
    expect(seen).toMatchObject({ id, description: '', fingerprint: '', used_by: [] });
    expect((await listOf(root, '/api/tokens')).find((token) => token.id === id)).toMatchObject({
      description: '',
      fingerprint: '',
    });
    expect((await root.del(path)).status).toBe(204);
  });

  it('is not kept from being deleted by a resource of somebody else that names it', async () => {
    const { alice, bob } = world;
    const { path, name } = await tokenOf(alice);
    const provider = { name: unique('squatter'), provider_type: 'openai', api_key_token_name: name };
    await bob.ok(bob.post('/api/providers', provider), 201);
    expect(await alice.ok(alice.get(path))).toMatchObject({ used_by: [] });
    expect((await alice.del(path)).status).toBe(204);
  });

  it('is offered to tools by its owner alone', async () => {
    const { alice, bob } = world;
    const { name } = await tokenOf(alice, { shared: true });
    const tool = { name: unique('offered_'), source_code: 'ENV = {"A": "a"}\n' };
    const source_code = `${tool.source_code}def ${tool.name}() -> str:\n    return ""\n`;
    const { id } = await alice.ok(alice.post('/api/custom-tools', { ...tool, source_code }), 201);
    const offered = async (as: Client) => (await as.ok(as.get(`/api/custom-tools/${id}/env-mapping`))).available_tokens;
    expect(await offered(alice)).toContain(name);
    expect(await offered(bob)).not.toContain(name);
  });
});

describe('the grants of a token', () => {
  const mcp = HOLDERS.find(({ kind }) => kind === 'mcp_server')!;

  it('list granted and requested destinations, and its owner agrees to what they have seen', async () => {
    const { alice, bob } = world;
    const token = await tokenOf(alice);
    const held = await mcp.make(world, bob, token.name);
    const [wanted] = await listOf(alice, `${token.path}/grants`);
    const host = new URL(world.target.url).host;
    expect(wanted).toMatchObject({ id: null, status: 'asked', resource_type: 'mcp_server', resource_id: held.id });
    expect(wanted).toMatchObject({ destination_label: host, granted_at: null });
    const order = { resource_type: 'mcp_server', resource_id: held.id, destination: wanted?.destination };
    await bob.ok(bob.put(held.moves.path, held.moves.values));
    expect(await alice.post(`${token.path}/grants`, order)).toMatchObject({ status: 409, body: { code: 'grant_outdated' } });
    await bob.ok(
      bob.put(held.path, {
        connection_config: { url: `${world.target.url}/c`, headers: { 'X-Key': `{{ token:${token.name} }}` } },
      }),
    );
    const [now] = await listOf(alice, `${token.path}/grants`);
    await alice.ok(alice.post(`${token.path}/grants`, { ...order, destination: now?.destination }), 201);
    expect(await held.use(alice, token.value)).toBe('arrived');
    expect(await held.use(bob, token.value)).toBe('secret_not_granted');
    const [given] = await listOf(alice, `${token.path}/grants`);
    expect(given).toMatchObject({ status: 'granted' });
    const again = await alice.ok(alice.post(`${token.path}/grants`, { ...order, destination: now?.destination }), 201);
    expect([again.id, await listOf(alice, `${token.path}/grants`)]).toEqual([given?.id, [given]]);
    expect((await alice.del(`${token.path}/grants/${given?.id}`)).status).toBe(204);
    expect((await alice.del(`${token.path}/grants/${given?.id}`)).status).toBe(404);
    expect(await held.use(alice, token.value)).toBe('secret_not_granted');
  });

  it("list the workflows of their owner that ask for the token, and nobody else's", async () => {
    const { alice, bob } = world;
    const token = await tokenOf(alice);
    const workflow = HOLDERS.find(({ kind }) => kind === 'workflow')!;
    const [of_alice, of_bob] = [await workflow.make(world, alice, token.name), await workflow.make(world, bob, token.name)];
    const listed = (await listOf(alice, `${token.path}/grants`)).map(({ resource_id }) => resource_id);
    expect(listed).toContain(of_alice.id);
    expect(listed).not.toContain(of_bob.id);
  });

  it('are outdated once somebody else has changed the resource, and go with it', async () => {
    const { alice, bob } = world;
    const token = await tokenOf(alice);
    const held = await mcp.make(world, alice, token.name);
    await bob.ok(bob.put(held.moves.path, held.moves.values));
    const states = async () => (await listOf(alice, `${token.path}/grants`)).map(({ status }) => status);
    expect(await states()).toEqual(['outdated', 'asked']);
    await bob.ok(bob.put(held.path, { connection_config: { url: `${world.target.url}/c` } }));
    const [outdated] = await listOf(alice, `${token.path}/grants`);
    expect(outdated).toMatchObject({ status: 'outdated', resource_name: held.id });
    await alice.ok(alice.del(held.path), 204);
    expect(await states()).toEqual([]);
    const { rows } = await world.core.database.pool.query('SELECT 1 FROM secret_grants WHERE resource_id = $1', [held.id]);
    expect(rows).toEqual([]);
  });

  it('leave a trail that only the owner reads', async () => {
    const { alice, bob } = world;
    const token = await tokenOf(alice);
    const held = await mcp.make(world, alice, token.name);
    await held.use(alice, token.value);
    await held.use(bob, token.value);
    const uses = await listOf(alice, `${token.path}/uses`);
    const place = { resource_kind: 'mcp_server', resource_id: held.id, destination_label: new URL(world.target.url).host };
    expect(uses).toEqual([
      expect.objectContaining({ ...place, granted: false, used_by: 'bob', task_id: null }),
      expect.objectContaining({ ...place, granted: true, used_by: 'alice', task_id: null }),
    ]);
    await world.core.database.pool.query(
      `INSERT INTO token_uses
        SELECT (jsonb_populate_record(u, jsonb_build_object('id', $2::text, 'principal', 'local:gone'))).*
        FROM token_uses u WHERE token_name = $1 ORDER BY used_at DESC LIMIT 1`,
      [token.name, uuid()],
    );
    const page = await alice.get(`${token.path}/uses?limit=1`);
    expect(page.body).toMatchObject([{ used_by: 'local:gone' }]);
    expect(page.headers.get('x-total-count')).toBe('3');
    expect(page.headers.get('link')).toContain('rel="next"');
    expect(JSON.stringify(uses)).not.toContain(token.value);
  });

  it.each(HOLDERS.filter(({ kind }) => kind !== 'workflow'))(
    'are as good after the keys were rotated, for a $kind',
    async ({ make }) => {
      const { alice, core } = world;
      const token = await tokenOf(alice);
      await make(world, alice, token.name);
      const before = await listOf(alice, `${token.path}/grants`);
      const fresh = `fresh:${randomBytes(32).toString('base64')}`;
      const copied = await core.database.pool.query('SELECT sealed, key_id FROM grant_keys');
      await rotateKeys(core.database, keyRing(`${fresh},${core.setting.encryption_keys}`));
      try {
        const rotated = createStore({ database: core.database, keys: keyRing(fresh) });
        const stored = await rotated.tokens.find(token.id);
        expect(await rotated.grants.ofToken(stored!)).toEqual(before);
        expect(before.map(({ status }) => status)).toEqual(['granted']);
        const { rows } = await core.database.pool.query('SELECT key_id FROM grant_keys');
        expect(rows).toEqual([{ key_id: 'fresh' }]);
      } finally {
        await rotateKeys(core.database, keyRing(`${core.setting.encryption_keys},${fresh}`));
        expect(copied.rows).toHaveLength(1);
      }
    },
  );

  it('are given once to existing resources whose token has the same owner; the doctor lists the rest', async () => {
    const { alice, bob, core } = world;
    const token = await tokenOf(alice);
    const [own, foreign] = [await mcp.make(world, alice, token.name), await mcp.make(world, bob, token.name)];
    await core.database.pool.query('DELETE FROM secret_grants');
    expect(await own.use(alice, token.value)).toBe('secret_not_granted');
    await core.store.grants.grantExisting();
    expect(await own.use(alice, token.value)).toBe('arrived');
    expect(await foreign.use(alice, token.value)).toBe('secret_not_granted');
    const { name } = await alice.ok(alice.get(foreign.path));
    const report = await doctorChecks(core, world.driver)['stored tokens']!();
    expect(report).toContain(`${token.name} to the MCP server ${name}`);
    await core.database.pool.query('DELETE FROM secret_grants');
    await core.store.grants.grantExisting();
    expect(await own.use(alice, token.value)).toBe('secret_not_granted');
  });
});

/** While it holds, no grant can be written: what a request has written before that is all that a lost server would leave. */
async function withoutGrants(work: () => Promise<unknown>): Promise<void> {
  const { pool } = world.core.database;
  await pool.query(`CREATE FUNCTION refuse_grant() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''lost''; END';
    CREATE TRIGGER refuse_grant BEFORE INSERT ON secret_grants FOR EACH ROW EXECUTE FUNCTION refuse_grant()`);
  try {
    await work();
  } finally {
    await pool.query('DROP TRIGGER refuse_grant ON secret_grants; DROP FUNCTION refuse_grant');
  }
}

const HOLDING = ['providers', 'custom_tools', 'mcp_servers', 'knowledge_sources', 'workflows'];
const resources = async () =>
  Promise.all(
    HOLDING.map(
      async (table) => (await world.core.database.pool.query(`SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY id`)).rows,
    ),
  );

/** Alice, each of whose requests has a key. `last` is the request that was sent last, `before` what was there at that moment. */
function keyed() {
  const { alice } = world;
  const sent: { last?: () => ReturnType<Client['send']>; before?: unknown } = {};
  const sending = (method: string) => async (path: string, body?: unknown) => {
    const headers = { 'idempotency-key': unique('both or neither ') };
    sent.last = () => alice.send(method, path, { body, headers });
    sent.before = await resources();
    return sent.last();
  };
  return { sent, as: { ...alice, post: sending('POST'), put: sending('PUT') } as Client };
}

describe('a resource and the grants that are given by saving it', () => {
  it('are tried for every kind of resource that may name a token', () => {
    expect(HOLDERS.map(({ kind }) => kind).sort()).toEqual([...SECRET_HOLDERS].sort());
  });

  it.each(HOLDERS)('are written both or neither, for a $kind, and a repeated request writes both', async ({ kind, make }) => {
    const token = await tokenOf(world.alice);
    const { as, sent } = keyed();
    await withoutGrants(() => expect(make(world, as, token.name)).rejects.toThrow('answered 500'));
    expect(await resources()).toEqual(sent.before);
    expect((await sent.last!()).status).toBe(kind === 'custom_tool' ? 200 : 201);
    expect((await listOf(world.alice, `${token.path}/grants`)).map(({ status }) => status)).toEqual(['granted']);
  });

  it.each(HOLDERS)('are written both or neither when a $kind is changed', async ({ make }) => {
    const token = await tokenOf(world.alice);
    const { path, moves } = await make(world, world.alice, token.name);
    const values = path === moves.path ? moves.values : { credential_overrides: { KEY: (await tokenOf(world.alice)).name } };
    const { as, sent } = keyed();
    await withoutGrants(async () => expect((await as.put(path, values)).status).toBe(500));
    expect(await resources()).toEqual(sent.before);
  });

  it('are written both or neither by an import', async () => {
    const { alice } = world;
    const token = await tokenOf(alice);
    const knowledge = HOLDERS.find(({ kind }) => kind === 'knowledge_source')!;
    const workflow = HOLDERS.find(({ kind }) => kind === 'workflow')!;
    const made = [await knowledge.make(world, alice, token.name), await workflow.make(world, alice, token.name)];
    const { resource_type: _, ...all } = await alice.ok(alice.get('/api/export'));
    const chosen = (name: string) =>
      all[name]
        .filter(({ id }: { id: string }) => made.some((one) => one.id === id))
        .map((one: object) => ({ ...one, name: unique('again ') }));
    const parts = { version: all.version, knowledge_sources: chosen('knowledge_sources'), workflows: chosen('workflows') };
    const bundles = [
      { ...parts, workflows: [] },
      { ...parts, knowledge_sources: [] },
    ];
    for (const bundle of bundles) {
      const before = await resources();
      await withoutGrants(async () => expect((await alice.post('/api/import', bundle)).status).toBe(500));
      expect(await resources()).toEqual(before);
      const results = await alice.ok(alice.post('/api/import', bundle));
      const [id] = [...results.knowledge_sources.ids, ...results.workflows.ids];
      const grants = await listOf(alice, `${token.path}/grants`);
      expect(grants.find(({ resource_id }) => resource_id === id)).toMatchObject({ status: 'granted' });
    }
  });
});

describe('a value that is sealed in a configuration', () => {
  const CANARY = 'canary-of-the-sealed-header';
  const serverOf = async () => {
    const connection_config = { url: `${world.target.url}/a`, headers: { Authorization: CANARY, 'X-Other': 'other-secret' } };
    const values = { name: unique('sealed '), transport_type: 'http', connection_config };
    const { id } = await world.alice.ok(world.alice.post('/api/mcps', values), 201);
    return { path: `/api/mcps/${id}`, masked: { Authorization: '********', 'X-Other': '********' } };
  };
  const sourceOf = async () => {
    const connection_config = { url: `${world.target.url}/a`, collection: 'c', api_key: CANARY };
    const values = { name: unique('sealed '), source_type: 'vector_db', connection_config };
    const { id } = await world.alice.ok(world.alice.post('/api/knowledge-sources', values), 201);
    return `/api/knowledge-sources/${id}`;
  };
  const sent = async (path: string) => {
    world.target.seen.length = 0;
    await world.alice.post(`${path}/test`);
    return world.target.got(CANARY);
  };

  it.each(['alice', 'bob', 'root'] as const)('does not go to another address that %s sets', async (who) => {
    const { path, masked } = await serverOf();
    expect(await sent(path)).toBe(true);
    const as = world[who];
    const moved = { connection_config: { url: `${world.target.url}/b`, headers: masked } };
    const strict = await as.put(path, moved, { prefer: 'handling=strict' });
    expect(strict.status).toBe(422);
    expect(await sent(path)).toBe(true);
    const { warnings } = await as.ok(as.put(path, moved));
    const paths = ['connection_config.headers.Authorization', 'connection_config.headers.X-Other'];
    expect(warnings.map((warning: { path: string }) => warning.path)).toEqual(paths);
    expect(await sent(path)).toBe(false);
    const source = await sourceOf();
    expect(await sent(source)).toBe(true);
    await as.ok(as.put(source, { connection_config: { url: `${world.target.url}/b`, collection: 'c', api_key: '********' } }));
    expect(await sent(source)).toBe(false);
  });

  it('does not stay when the transport, the network or the paths change', async () => {
    for (const values of [{ transport_type: 'sse' }, { network: true }]) {
      const { path } = await serverOf();
      await world.bob.ok(world.bob.put(path, values));
      expect(await sent(path)).toBe(false);
    }
  });

  it('stays for its owner who keeps the address, and is taken when it is sent again', async () => {
    const { path, masked } = await serverOf();
    await world.alice.ok(
      world.alice.put(path, { connection_config: { url: `${world.target.url}/a`, headers: { ...masked, 'X-New': 'n' } } }),
    );
    expect(await sent(path)).toBe(true);
    await world.alice.ok(
      world.alice.put(path, { connection_config: { url: `${world.target.url}/b`, headers: { Authorization: CANARY } } }),
    );
    expect(await sent(path)).toBe(true);
    const source = await sourceOf();
    await world.alice.ok(
      world.alice.put(source, { connection_config: { url: `${world.target.url}/a`, collection: 'd', api_key: '********' } }),
    );
    expect(await sent(source)).toBe(true);
  });

  it('is cleared when somebody else changes anything of the configuration, and kept through their other changes', async () => {
    const { path, masked } = await serverOf();
    await world.bob.ok(world.bob.put(path, { description: 'nicer' }));
    const same = { url: `${world.target.url}/a`, headers: masked };
    await world.bob.ok(world.bob.put(path, { connection_config: same }));
    expect(await sent(path)).toBe(true);
    await world.bob.ok(world.bob.put(path, { connection_config: { ...same, headers: { ...masked, 'X-Log': 'on' } } }));
    expect(await sent(path)).toBe(false);
  });
});

describe('nothing that others made', () => {
  it('is called by a query that names no sources', async () => {
    const { alice, bob } = world;
    const connection_config = { url: `${world.target.url}/bobs`, collection: 'c' };
    const values = { name: unique('elsewhere '), source_type: 'vector_db', connection_config };
    const { id } = await bob.ok(bob.post('/api/knowledge-sources', values), 201);
    const asks = async (as: Client, more: object = {}) => {
      world.target.seen.length = 0;
      await as.ok(as.post('/api/knowledge-items/query', { query: 'private words', ...more }));
      return world.target.seen.some((one) => one.startsWith('/bobs'));
    };
    expect(await asks(alice)).toBe(false);
    expect(await asks(alice, { source_ids: [id] })).toBe(true);
    expect(await asks(bob)).toBe(true);
  });

  it.each(['bob', 'root'] as const)('joins by its tag, unless an administrator made it: %s', async (who) => {
    const { alice } = world;
    const as = world[who];
    const tags = [unique('tag')];
    const url = { connection_config: { url: `${world.target.url}/mcp` } };
    await as.ok(as.post('/api/mcps', { name: unique('tagged '), transport_type: 'http', tags, ...url }), 201);
    const source = await as.ok(as.post('/api/knowledge-sources', { name: unique('tagged '), tags }), 201);
    await as.ok(as.post('/api/skills', { name: unique('tagged '), instructions: 'x', tags }), 201);
    const guardrail = { guardrail_type: 'prompt', config: { forbidden_patterns: ['forbidden'] } };
    await as.ok(as.post('/api/guardrails', { name: unique('tagged '), tags, ...guardrail }), 201);
    const agent = { name: unique('agent '), mcp_server_tags: tags, knowledge_tags: tags };
    const { id: agent_id } = await alice.ok(alice.post('/api/agents', agent), 201);
    const joining = { agent_id, skill_tags: tags, guardrail_tags: tags };
    const { id } = await alice.ok(alice.post('/api/workflows', joining), 201);
    const snapshot = await world.core.store.snapshot(id);
    const joined = who === 'root' ? 1 : 0;
    expect(snapshot?.mcp_servers).toHaveLength(joined);
    expect(snapshot?.knowledge_source_ids).toHaveLength(joined);
    expect(snapshot?.skills).toHaveLength(joined);
    expect(snapshot?.guardrails).toHaveLength(joined);
    expect(snapshot?.not_joined).toHaveLength(joined ? 0 : 4);
    const report = await doctorChecks(world.core, world.driver).tags!();
    expect(report.includes(`knowledge source ${source.name} does not join the workflow ${id} of alice`)).toBe(!joined);
  });
});
