import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { framesIn } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { agentSays, spends, startVendorServer, type VendorServer } from '../support/peers/vendor-server.ts';
import { until } from '../support/until.ts';

let vendor: VendorServer;
let here: TestInstallation;
let provider_id: string;
beforeAll(async () => {
  vendor = await startVendorServer();
  here = await startTestInstallation({ env: { ANTHROPIC_API_URL: vendor.url } });
  const { alice } = here;
  await alice.ok(alice.post('/api/tokens', { name: 'vendor-key', value: 'canary-vendor-key' }));
  const values = { name: 'vendor', provider_type: 'anthropic', api_key_token_name: 'vendor-key', default_model: 'claude-test' };
  provider_id = (await alice.ok(alice.post('/api/providers', values))).id;
});
afterAll(async () => {
  await here.stop();
  await vendor.stop();
});

describe('the vendor without a base_url', () => {
  it('lists its models', async () => {
    const window = { context_window: 200_000, context_window_from: 'endpoint' };
    expect((await here.alice.get(`/api/models?provider_id=${provider_id}`)).body).toEqual([
      expect.objectContaining({ id: 'claude-test', name: 'Claude Test', provider_id, ...window, priced: false, vendor: null }),
    ]);
    expect((await here.alice.post(`/api/providers/${provider_id}/test`)).body).toEqual({
      ...{ success: true, models: ['claude-test'], error: null },
    });
  });

  it('says what to do when it refuses the key, and does not repeat the key', async () => {
    const values = { name: 'revoked', provider_type: 'anthropic', api_key_token_name: 'vendor-key' };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', values));
    vendor.refuse({ status: 401 }, { status: 401 });
    const { body } = await here.alice.post(`/api/providers/${id}/test`);
    expect(body).toMatchObject({ success: false, error: expect.stringContaining("check the provider's stored key") });
    const listed = await here.alice.get(`/api/models?provider_id=${id}`);
    expect(listed).toMatchObject({ status: 502, body: { code: 'models_unavailable' } });
    expect(JSON.stringify([body, listed.body])).not.toContain('canary-vendor-key');
  });

  it('answers chats, and remembers earlier messages', async () => {
    const { id } = await here.alice.ok(
      here.alice.post('/api/agents', { name: 'chatty', provider_id, system_prompt: 'Be kind.' }),
    );
    const replyTo = async (body: object) => chatted((await here.alice.post(`/api/agents/${id}/chat`, body)).body as never);
    vendor.script([...agentSays('Hello from a chat.'), spends(7, 4)], agentSays('Goodbye.'));
    const first = await replyTo({ message: 'Hi' });
    expect(first.text).toBe('Hello from a chat.');
    expect(first.usage).toEqual({ prompt_tokens: 12, completion_tokens: 4 });
    const second = await replyTo({ message: 'And?', session_id: first.session_id });
    expect(second.text).toBe('Goodbye.');
    const sent = JSON.stringify(vendor.sessions.at(-1)!.events.filter(({ type }) => type === 'user.message'));
    expect(sent).toMatch(/Hi.*Hello from a chat\..*And\?/);
    await until('the sessions to be closed', async () => vendor.sessions.every(({ archived_at }) => archived_at !== null));
    vendor.refuse({ status: 401 });
    expect((await replyTo({ message: 'Still there?' })).error).toContain("check the provider's stored key");
  });
});

function chatted(stream: string) {
  const events = framesIn(stream).map(({ data }) => JSON.parse(data));
  const of = (type: string) => events.filter((event) => event.type === type);
  return {
    text: of('delta')
      .map(({ content }) => content)
      .join(''),
    session_id: of('session')[0]?.session_id as string,
    usage: of('done')[0]?.usage,
    error: of('error')[0]?.message as string | undefined,
  };
}
