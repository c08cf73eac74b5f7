import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { KEYLESS_MODEL, type KeylessServer, startKeylessServer } from '../support/peers/keyless-server.ts';

let here: TestInstallation;
let server: KeylessServer;
beforeAll(async () => {
  here = await startTestInstallation();
  server = await startKeylessServer();
});
afterAll(async () => {
  await here.stop();
  await server.stop();
});

const compatible = (base_url: string) => ({ provider_type: 'openai_compatible', base_url });
const test = (body: object) => here.alice.ok(here.alice.post('/api/providers/test', body), 200);

describe('a provider that is not stored', () => {
  it('is tested with the key given, which is kept nowhere', async () => {
    server.keys.length = 0;
    const tested = await test({ ...compatible(`${server.address}/v1`), api_key: 'sk-of-alice' });
    expect(tested).toEqual({ success: true, models: [KEYLESS_MODEL], error: null });
    await test({ ...compatible(`${server.address}/v1`), api_key: 'sk-of-alice', auth_type: 'x-api-key' });
    expect(server.keys).toEqual(['Bearer sk-of-alice', 'sk-of-alice']);
    expect(await here.alice.ok(here.alice.get('/api/providers'))).toEqual([]);
    expect(await here.alice.ok(here.alice.get('/api/tokens'))).toEqual([]);
  });

  it('reports why it does not answer, without the key', async () => {
    const tested = await test({ ...compatible('http://127.0.0.1:1/v1'), api_key: 'sk-of-alice' });
    expect(tested).toMatchObject({ success: false, models: [], error: expect.stringMatching(/\w/) });
    expect(JSON.stringify(tested)).not.toContain('sk-of-alice');
    expect(await test({ provider_type: 'openai' })).toMatchObject({ success: false, error: expect.stringContaining('no key') });
    expect((await here.alice.post('/api/providers/test', { provider_type: 'nobody' })).status).toBe(422);
    expect((await here.anonymous.post('/api/providers/test', compatible(server.address))).status).toBe(401);
  });
});

describe('a self-hosted model server', () => {
  it.for(['', '/', '/v1', '/v1/'])('is tested and runs without any token at its address with the path "%s"', async (path) => {
    server.keys.length = 0;
    const values = { name: `own${path}`, ...compatible(`${server.address}${path}`), default_model: KEYLESS_MODEL };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
    expect(await here.alice.ok(here.alice.post(`/api/providers/${provider_id}/test`))).toMatchObject({ success: true });
    const workflow_id = await here.workflow({ agent: { provider_id } });
    expect(await here.ended(await here.prompt(workflow_id, 'Hello'))).toMatchObject({ status: 'completed', error: null });
    expect(new Set(server.keys)).toEqual(new Set([undefined]));
  });
});
