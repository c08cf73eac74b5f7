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

/** Every place of the database that holds something sealed, with the ids of the keys it is sealed with. */
async function sealedPlaces(): Promise<Record<string, string[]>> {
  const columns = await rowsOf<{ place: string; column: string; type: string }>(
    `SELECT c.table_name AS place, c.column_name AS column, c.data_type AS type FROM information_schema.columns c
      WHERE c.table_schema = 'public' AND (c.column_name LIKE '%key_id' OR c.data_type = 'jsonb') ORDER BY 1, 2`,
  );
  const found: Record<string, string[]> = {};
  for (const { place, column, type } of columns) {
    const ids =
      type === 'jsonb'
        ? `SELECT DISTINCT (regexp_matches("${column}"::text, '\\{\\{sealed:([^:]+):', 'g'))[1] AS id FROM "${place}"`
        : `SELECT DISTINCT "${column}" AS id FROM "${place}" WHERE "${column}" IS NOT NULL`;
    const rows = await rowsOf<{ id: string }>(`${ids} ORDER BY 1`);
    if (rows.length > 0) found[`${place}.${column}`] = rows.map(({ id }) => id);
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
  const vectors = { url: 'https://vectors.example', collection: 'c', api_key: 'key-of-the-source' };
  await alice.ok(alice.post('/api/knowledge-sources', { name: 's', source_type: 'vector_db', connection_config: vectors }), 201);
  await alice.ok(alice.post('/api/webhook-secret/rotate'), 201);
  const workflow_id = await here.workflow({ agent: { provider_id: null, model: 'm', mcp_server_ids: [mcp_server] } });
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
  ]);
  const fresh = `fresh:${randomBytes(32).toString('base64')}`;
  await rotateKeys(here.core.database, keyRing(`${fresh},${setting.encryption_keys}`));
  const after = Object.fromEntries(Object.keys(before).map((place) => [place, ['fresh']]));
  expect(await sealedPlaces()).toEqual(after);
  const renewed = mcpSignInStore(here.core.database, keyRing(fresh));
  expect((await renewed.find(place))?.tokens).toEqual(tokens);
  expect(await renewed.take('s', { principal: 'local:alice', session: 'x' })).toMatchObject({ verifier: 'v' });
});
