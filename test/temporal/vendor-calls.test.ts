import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { chatAnswer, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'canary-vendor-key' }));
});
afterAll(() => here?.stop());

const TODO = { name: 'manage_todo_list', input: { todoList: [{ id: 1, title: 'Look', status: 'done' }] } };

/** A run of two steps at this provider, with a call of a tool between them. */
async function runAt(provider: object, workflow: object = {}) {
  const values = { name: crypto.randomUUID(), api_key_token_name: 'vendor-key', ...provider };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values), 201);
  const id = await here.workflow({ agent: { provider_id, model: null, builtin_tools: [TODO.name] }, workflow });
  const task_id = await here.prompt(id);
  return { id, task_id, ended: await here.ended(task_id) };
}

it('a run at Anthropic calls tools, keeps its signed thinking, and can be forked', async () => {
  const vendor = await startCompatibleVendor(vendors.anthropic);
  try {
    const thinking = [{ type: 'thinking', thinking: 'A list helps.', signature: 'c2ln' }];
    vendor.script(
      messageAnswer([thinking[0]!, { type: 'tool_use', id: 'toolu_1', ...TODO }], {
        ...{ stop: 'tool_use', issues: { id: 'toolu_1', added: { thinking } } },
      }),
    );
    const provider = { provider_type: 'anthropic_messages', base_url: vendor.url, default_model: 'claude-sonnet-5' };
    const settings = { reasoning_effort: 'low', max_output_tokens: 500, stop: ['END'] };
    const { task_id, ended } = await runAt(provider, settings);
    expect(ended).toMatchObject({ status: 'completed', error: null });
    expect(vendor.requests).toHaveLength(2);
    expect(vendor.requests[1]).toMatchObject({ max_tokens: 500, stop_sequences: ['END'] });
    expect(vendor.requests[1]!.messages[1].content[0]).toEqual(thinking[0]);
    const shown = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps/2/request`));
    expect(shown.parameters).toMatchObject({ max_tokens: 500, stop_sequences: ['END'], stream: true });
    expect(shown.changeable).toMatchObject({ max_output_tokens: 500, stop: ['END'], temperature: null });
    const changes = { max_output_tokens: null, temperature: 0.5 };
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 2, changes }));
    expect(await here.ended(fork.task_id)).toMatchObject({ status: 'completed' });
    expect(vendor.requests.at(-1)).toMatchObject({ max_tokens: 8_192, temperature: 0.5, stop_sequences: ['END'] });
  } finally {
    await vendor.stop();
  }
});

it('a call that Anthropic breaks off at the output limit is answered with what is wrong, and paid for once', async () => {
  const vendor = await startCompatibleVendor(vendors.anthropic);
  try {
    const whole = messageAnswer([{ type: 'tool_use', id: 'toolu_1', ...TODO }], { stop: 'max_tokens' });
    // The last piece of the arguments never came.
    const events = whole.events.filter((_, index) => index !== 3);
    vendor.script({ events });
    const provider = { provider_type: 'anthropic_messages', base_url: vendor.url, default_model: 'claude-sonnet-5' };
    const { ended } = await runAt(provider);
    expect(ended).toMatchObject({ status: 'completed', error: null });
    expect(vendor.requests).toHaveLength(2);
    const [, called, result] = vendor.requests[1]!.messages;
    expect(called.content[0]).toMatchObject({ type: 'tool_use', input: { not_valid_json: '{"todoList":[{"id":1,"title' } });
    expect(result.content[0]).toMatchObject({ type: 'tool_result', content: expect.stringContaining('JSON') });
  } finally {
    await vendor.stop();
  }
});

it('a run at Gemini carries thought_signature from step to step', async () => {
  const vendor = await startCompatibleVendor(vendors.gemini);
  try {
    const extra_content = { google: { thought_signature: 'c2lnbmVk' } };
    const call = { index: 0, id: 'a', type: 'function', function: { name: TODO.name, arguments: JSON.stringify(TODO.input) } };
    vendor.script(
      chatAnswer([{ tool_calls: [{ ...call, extra_content }] }], {
        ...{ finish: 'tool_calls', issues: { id: 'a', added: { thought_signature: 'c2lnbmVk' } } },
      }),
    );
    const provider = {
      provider_type: 'openai_compatible',
      base_url: `${vendor.url}/v1`,
      default_model: 'gemini-3-flash-preview',
    };
    expect((await runAt(provider)).ended).toMatchObject({ status: 'completed', error: null });
    expect(vendor.requests[1]!.messages.at(-2).tool_calls[0].extra_content).toEqual(extra_content);
  } finally {
    await vendor.stop();
  }
});

it('a setting that the model refuses ends the run at once, in the words of the vendor', async () => {
  const vendor = await startCompatibleVendor(vendors.openai);
  try {
    const provider = { provider_type: 'openai', base_url: `${vendor.url}/v1`, default_model: 'gpt-5' };
    const { ended } = await runAt(provider, { temperature: 0.2 });
    expect(ended).toMatchObject({
      ...{ status: 'failed', error: expect.stringContaining("'temperature' does not support 0.2 with this model") },
    });
    expect(vendor.requests).toHaveLength(1);
  } finally {
    await vendor.stop();
  }
});

it('a workflow without settings has the definition that it always had', async () => {
  const id = await here.workflow();
  await here.ended(await here.prompt(id));
  const versions = await here.alice.ok(here.alice.get(`/api/workflows/${id}/versions`));
  const before = versions[0].definition_hash;
  const { definition } = await here.alice.ok(here.alice.get(`/api/workflows/${id}/versions/${versions[0].number}`));
  expect(Object.keys(definition.settings)).not.toContain('temperature');
  const set = async (values: object) => {
    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, values));
    return (await here.alice.ok(here.alice.get(`/api/workflows/${id}/versions`)))[0].definition_hash;
  };
  expect(await set({ temperature: 0.1, stop: ['END'] })).not.toBe(before);
  await set({ temperature: null, stop: [] });
  const current = (await here.alice.ok(here.alice.get(`/api/workflows/${id}/versions`))).find(
    ({ current }: { current: boolean }) => current,
  );
  expect(current.definition_hash).toBe(before);
});

it.each([
  [{ temperature: 2.1 }, 'temperature'],
  [{ top_p: 1.5 }, 'top_p'],
  [{ max_output_tokens: 0 }, 'max_output_tokens'],
  [{ stop: Array(65).fill('a') }, 'stop'],
  [{ stop: [''] }, 'stop'],
  [{ parallel_tool_calls: 'maybe' }, 'parallel_tool_calls'],
])('refuses a wrong value: %#', async (values, field) => {
  const id = await here.workflow();
  const { status, body } = await here.alice.put(`/api/workflows/${id}`, values);
  expect(status).toBe(422);
  expect((body as { errors: { path: string }[] }).errors[0]!.path).toMatch(new RegExp(`^${field}`));
});
