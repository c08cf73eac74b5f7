import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerPlugins } from '../../src/main/wiring/register-plugins.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: { ADMIN_SUBJECTS: 'local:alice' } });
  await registerPlugins(here.core);
});
afterAll(() => here.stop());

const bundled = async () => {
  const tools = await here.alice.ok(here.alice.get('/api/custom-tools'));
  return new Map(
    (tools as { name: string; is_plugin: boolean; id: string; is_enabled: boolean }[]).map((tool) => [tool.name, tool]),
  );
};

it("lists the bundled tools next to the user's own, ready to run", async () => {
  const calculate = (await bundled()).get('calculate')!;
  expect(calculate.is_plugin).toBe(true);
  const answer = await here.alice.ok(
    here.alice.post(`/api/custom-tools/${calculate.id}/run`, { arguments: { expression: '6 * 7' } }),
  );
  expect(answer).toMatchObject({ success: true });
  expect(answer.result).toContain('42');
});

it('refuses changes to their source, and keeps their settings across a restart', async () => {
  const { id } = (await bundled()).get('calculate')!;
  const path = `/api/custom-tools/${id}`;
  const source_code = 'def calculate():\n    return 1\n';
  expect((await here.alice.put(path, { source_code })).body.code).toBe('plugin_tool');
  expect((await here.alice.del(path)).status).toBe(409);
  await here.alice.ok(here.alice.put(path, { is_enabled: false }));
  await registerPlugins(here.core);
  expect((await bundled()).get('calculate')).toMatchObject({ id, is_enabled: false, is_plugin: true });
});
