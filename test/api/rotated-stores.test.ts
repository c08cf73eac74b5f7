import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { mcpSignInStore } from '../../src/store/secrets/mcp-sign-ins.ts';
import { rotateKeys } from '../../src/store/upkeep/rotation.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

const rowsOf = async <T>(text: string) => (await here.core.database.pool.query(text)).rows as T[];

/** Keeps every row as it is now, so that a place can be put back. */
async function keepRows(): Promise<void> {
  const tables = await rowsOf<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
  await rowsOf('CREATE SCHEMA kept');
  for (const { name } of tables) await rowsOf(`CREATE TABLE kept."${name}" AS TABLE public."${name}"`);
}

/** The tables with a row whose last change by somebody is another one than when the rows were kept. */
async function listTouched(): Promise<string[]> {
  const tables = await rowsOf<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'updated_at'`,
  );
  expect(tables.length).toBeGreaterThan(9);
  const touched: string[] = [];
  for (const { name } of tables) {
    const rows = await rowsOf(`SELECT updated_at FROM public."${name}" EXCEPT SELECT updated_at FROM kept."${name}"`);
    if (rows.length > 0) touched.push(name);
  }
  return touched;
}

/** Puts back what was sealed in one place when the rows were kept. */
async function putBack(place: string): Promise<void> {
  const [table = '', column = ''] = place.split('.');
  const keys = await rowsOf<{ name: string }>(
    `SELECT a.attname AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
      WHERE i.indrelid = 'public."${table}"'::regclass AND i.indisprimary`,
  );
  const columns = column.startsWith('caller') ? [column, 'caller_token'] : [column, column.replace('key_id', 'sealed')];
  const set = [...new Set(columns)].map((name) => `"${name}" = k."${name}"`).join(', ');
  const same = keys.map(({ name }) => `t."${name}" = k."${name}"`).join(' AND ');
  await rowsOf(`UPDATE public."${table}" t SET ${set} FROM kept."${table}" k WHERE ${same}`);
}

/** The ids of the keys that the values of one place are sealed with. */
async function keysOf(place: string): Promise<string[]> {
  const [table = '', column = ''] = place.split('.');
  const ids = column.endsWith('key_id')
    ? `SELECT DISTINCT "${column}" AS id FROM "${table}" WHERE "${column}" IS NOT NULL`
    : `SELECT DISTINCT (regexp_matches("${column}"::text, '\\{\\{sealed:([^:]+):', 'g'))[1] AS id FROM "${table}"`;
  return (await rowsOf<{ id: string }>(`${ids} ORDER BY 1`)).map(({ id }) => id);
}

/** Every place of the database that holds something sealed, with the ids of the keys it is sealed with. */
async function sealedPlaces(): Promise<Record<string, string[]>> {
  const columns = await rowsOf<{ place: string }>(
    `SELECT c.table_name || '.' || c.column_name AS place FROM information_schema.columns c
      WHERE c.table_schema = 'public' AND (c.column_name LIKE '%key_id' OR c.data_type = 'jsonb')
      ORDER BY c.table_name, c.column_name`,
  );
  const found: Record<string, string[]> = {};
  for (const { place } of columns) {
    const ids = await keysOf(place);
    if (ids.length > 0) found[place] = ids;
  }
  return found;
}

it('everything that is sealed opens with the new key alone once keys were rotated', async () => {
  const { alice, setting } = here;
  await alice.ok(alice.post('/api/tokens', { name: 'kept', value: 'a-value-to-keep' }), 201);
  const provider = { name: 'granted', provider_type: 'openai', api_key_token_name: 'kept' };
  await alice.ok(alice.post('/api/providers', provider), 201);
  const connection_config = { url: 'https://mcp.example', headers: { Authorization: 'Bearer of-the-server' } };
  const server = { name: 'sealed', transport_type: 'http', connection_config };
  const { id: mcp_server } = await alice.ok(alice.post('/api/mcps', server), 201);
  const plain = { name: 'plain', transport_type: 'http', connection_config: { url: 'https://plain.example' } };
  const { id: plain_server } = await alice.ok(alice.post('/api/mcps', plain), 201);
  const vectors = { url: 'https://vectors.example', collection: 'c', api_key: 'key-of-the-source' };
  await alice.ok(alice.post('/api/knowledge-sources', { name: 's', source_type: 'vector_db', connection_config: vectors }), 201);
  await alice.ok(alice.post('/api/webhook-secret/rotate'), 201);
  await alice.ok(alice.post('/api/webhook-secret/rotate'), 201);
  const workflow_id = await here.workflow({
    agent: { provider_id: null, model: 'm', mcp_server_ids: [mcp_server, plain_server] },
  });
  const schedule = { name: 'sealed', workflow_id, prompt: 'x', interval_value: 1, interval_unit: 'weeks' };
  await alice.ok(alice.post('/api/scheduled-agents', { ...schedule, start_at: '2999-01-01T00:00:00Z' }), 201);
  await here.prompt(workflow_id);
  const { id: dataset } = await alice.ok(alice.post('/api/datasets', { name: 'sealed' }), 201);
  await alice.ok(alice.post(`/api/datasets/${dataset}/items`, { prompt: 'x' }), 201);
  await alice.ok(alice.post(`/api/datasets/${dataset}/runs`, { workflow_id, graders: [{ type: 'exact' }] }), 201);

  const place = { server_id: mcp_server, principal: 'local:alice' };
  const secrets = {
    url: 'https://mcp.example',
    client: { client_id: 'c' },
    discovery: { authorizationServerUrl: 'https://auth.example' },
  };
  const tokens = { access_token: 'of-the-sign-in', token_type: 'bearer' };
  const { mcpSignIns } = here.core.store;
  await mcpSignIns.save(place, { ...secrets, tokens });
  const begun = { ...place, state: 's', session: 'x', expires_at: new Date(Date.now() + 60_000) };
  await mcpSignIns.begin({ ...begun, secrets: { ...secrets, verifier: 'v' } });

  const before = await sealedPlaces();
  // A place that is new here needs a line above that fills it, or the rotation is not shown to reach it.
  expect(Object.keys(before)).toEqual([
    'definitions.body',
    'evaluations.caller_key_id',
    'grant_keys.key_id',
    'knowledge_sources.connection_config',
    'mcp_servers.connection_config',
    'mcp_sign_in_attempts.key_id',
    'mcp_sign_ins.key_id',
    'scheduled_agents.caller_key_id',
    'stored_tokens.key_id',
    'tasks.caller_key_id',
    'webhook_secrets.key_id',
    'webhook_secrets.previous_key_id',
  ]);
  await keepRows();
  const fresh = `fresh:${randomBytes(32).toString('base64')}`;
  const ring = keyRing(`${fresh},${setting.encryption_keys}`);
  const rotate = () => rotateKeys(here.core.database, ring);
  const urls = `SELECT jsonb_path_query_array(body, '$.mcp_servers[*].connection_config.url') AS urls FROM definitions`;
  const addresses = await rowsOf(urls);
  await rotate();
  expect(await rowsOf(urls)).toEqual(addresses);
  expect(await listTouched()).toEqual([]);
  const after = Object.fromEntries(Object.keys(before).map((place) => [place, ['fresh']]));
  expect(await sealedPlaces()).toEqual(after);
  expect(Object.entries(await rotate()).filter(([, count]) => count !== 0)).toEqual([]);
  // What is sealed next to it has the new key already, as after a change between the new setting and the command.
  for (const place of Object.keys(before)) {
    await putBack(place);
    expect({ place, keys: await keysOf(place) }).toEqual({ place, keys: before[place] });
    await rotate();
    expect({ place, keys: await keysOf(place) }).toEqual({ place, keys: ['fresh'] });
  }
  expect(await sealedPlaces()).toEqual(after);
  const renewed = mcpSignInStore(here.core.database, keyRing(fresh));
  expect((await renewed.find(place))?.tokens).toEqual(tokens);
  expect(await renewed.take('s', { principal: 'local:alice', session: 'x' })).toMatchObject({ verifier: 'v' });
});
