import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventOf, framesIn } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { chatAnswer, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'chat-key', value: 'canary-chat-key' }));
});
afterAll(() => here.stop());

const ARGS = { todoList: [{ id: 1, title: 'Look', status: 'done' }] };
const thinking = { type: 'thinking', thinking: 'A list helps.', signature: 'c2ln' };
const CALL = { index: 0, id: 'c1', type: 'function', function: { name: 'manage_todo_list', arguments: JSON.stringify(ARGS) } };

const PROTOCOLS = {
  'the Messages API': {
    rules: vendors.anthropic,
    provider: { provider_type: 'anthropic_messages', default_model: 'claude-sonnet-5' },
    asks: messageAnswer([thinking, { type: 'tool_use', id: 'toolu_1', name: 'manage_todo_list', input: ARGS }], {
      ...{ stop: 'tool_use', issues: { id: 'toolu_1', added: { thinking: [thinking] } } },
    }),
    says: (text: string) => messageAnswer([{ type: 'text', text }]),
    /** What is sent about tools. */
    expected: {
      tools: [{ name: 'no_tool', description: 'No tool can be called in this request.', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    },
  },
  'chat completions': {
    rules: vendors.openaiItself,
    provider: { provider_type: 'openai_compatible', default_model: 'gpt-5' },
    asks: chatAnswer([{ tool_calls: [CALL] }], { finish: 'tool_calls' }),
    says: (text: string) => chatAnswer([{ content: text }]),
    expected: {},
  },
};

it.each(Object.entries(PROTOCOLS))(
  'a question with tools: false after a call of a tool is accepted by %s, with the call and its result',
  async (_, { rules, provider, asks, says, expected }) => {
    const { alice } = here;
    const vendor = await startCompatibleVendor(rules);
    try {
      const values = { name: crypto.randomUUID(), api_key_token_name: 'chat-key', base_url: vendor.url, ...provider };
      const { id: provider_id } = await alice.ok(alice.post('/api/providers', values), 201);
      const agent_id = await here.agent({ provider_id, builtin_tools: ['manage_todo_list'] });
      const ask = async (body: object) => {
        const { status, body: frames } = await alice.post(`/api/agents/${agent_id}/chat`, body);
        expect(status).toBe(200);
        const events: any[] = framesIn(String(frames)).map(eventOf);
        expect(events.at(-1)).toMatchObject({ type: 'done' });
        const text = events.flatMap(({ type, content }) => (type === 'delta' ? content : [])).join('');
        return { session_id: events[0].session_id, text };
      };
      vendor.script(asks, says('It is done.'), says('Two plus three is five.'), says('You are welcome.'));
      const { session_id } = await ask({ message: 'Look.' });
      expect((await ask({ message: 'Add 2 and 3.', session_id, tools: false })).text).toBe('Two plus three is five.');
      const [, , without_tools] = vendor.requests;
      const { tools, tool_choice, parallel_tool_calls } = without_tools!;
      expect({ tools, tool_choice, parallel_tool_calls }).toEqual(expected);
      expect(JSON.stringify(without_tools!.messages)).toContain('todoList');
      expect((await ask({ message: 'Thanks.', session_id })).text).toBe('You are welcome.');
      expect(vendor.requests[3]!.tools).toHaveLength(1);
      expect([vendor.requests.length, vendor.refused()]).toEqual([4, 0]);
    } finally {
      await vendor.stop();
    }
  },
);
