import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { clientForTests } from '../support/runs/temporal-client.ts';

const CANARIES = ['canary-provider-key-51c2', 'canary-tool-secret-8d7e', ALICE];

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

it('keeps secrets out of the engine, the events, the database in clear and every reply', async () => {
  const { alice } = here;
  await alice.ok(alice.post('/api/tokens', { name: 'provider-key', value: CANARIES[0] }));
  await alice.ok(alice.post('/api/tokens', { name: 'tool-key', value: CANARIES[1] }));
  const source_code = 'import os\nENV = {"SECRET": "s"}\nEFFECT = "read"\ndef leak() -> str:\n    return os.environ["SECRET"]\n';
  const tool = await alice.ok(alice.post('/api/custom-tools', { name: 'leak', source_code }));
  await alice.ok(alice.put(`/api/custom-tools/${tool.id}/env-mapping`, { env_mapping: { SECRET: 'tool-key' } }));
  const workflow_id = await here.workflow({ agent: { custom_tool_ids: [tool.id] } });
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id } = await alice.ok(alice.get(`/api/agents/${agent_id}`));
  await alice.ok(alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'provider-key' }));

  here.model.script(asks({ name: 'leak' }), says('kept'), fails(401, { message: `bad key ${CANARIES[0]}` }));
  const tasks = [await here.prompt(workflow_id), await here.prompt(workflow_id)];
  expect((await here.ended(tasks[0]!)).status).toBe('completed');
  expect((await here.ended(tasks[1]!)).status).toBe('failed');
  expect(here.model.requests.at(-1)?.authorization).toBe(`Bearer ${CANARIES[0]}`);

  const seen: Record<string, string> = {};
  await using temporal = await clientForTests(here.setting);
  for (const task_id of tasks) {
    seen[`history of ${task_id}`] = JSON.stringify(
      await temporal.client.workflow.getHandle(`task-${task_id}`).fetchHistory(),
      decoded,
    );
    seen[`stream of ${task_id}`] = JSON.stringify(await alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`));
  }
  for (const path of [`/api/workflows/${workflow_id}`, '/api/tasks', '/api/tokens', '/api/providers', '/api/custom-tools']) {
    seen[path] = JSON.stringify((await alice.get(path)).body);
  }
  const { rows: tables } = await here.core.database.pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  );
  for (const { name } of tables)
    seen[`table ${name}`] = JSON.stringify((await here.core.database.pool.query(`SELECT * FROM "${name}"`)).rows, decoded);
  const leaks = Object.entries(seen).filter(([, text]) => CANARIES.some((canary) => text.includes(canary)));
  expect(leaks.map(([place]) => place)).toEqual([]);
});

/** Payloads of the engine and columns of bytes as the text they may hold. */
function decoded(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  const bytes = value as { type?: string; data?: number[] } | null;
  return bytes?.type === 'Buffer' && Array.isArray(bytes.data) ? Buffer.from(bytes.data).toString('latin1') : value;
}
