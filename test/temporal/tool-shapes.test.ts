import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'canary-vendor-key' }));
});
afterAll(() => here?.stop());

const description = 'Looks up a word';
const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] };
const NESTED = { type: 'function', function: { name: 'look_up', description, parameters: schema } };

const FUNCTIONS: Record<string, object> = {
  'nested, of chat completions': NESTED,
  'nested without a type': { function: NESTED.function },
  'nested, with the schema under the name of the other vendor': {
    ...{ type: 'function', function: { name: 'look_up', description, input_schema: schema } },
  },
  'flat, of responses': { type: 'function', name: 'look_up', description, parameters: schema },
  'of messages': { name: 'look_up', description, input_schema: schema },
  'of messages with its type': { type: 'custom', name: 'look_up', description, input_schema: schema },
};

const REFUSED: Record<string, [object, RegExp]> = {
  'a later web search of Anthropic': [
    { type: 'web_search_20990101', name: 'web_search' },
    /`web_search_20990101` is not a function.*web_search_20250305.* `builtin_tools`/,
  ],
  'a tool of Anthropic that its client runs': [{ type: 'bash_20250124', name: 'bash' }, /`bash_20250124` is not a function/],
  'web search of OpenAI': [{ type: 'web_search' }, /`web_search` is not a function.* input_schema/],
  'an MCP server of a vendor': [{ type: 'mcp', server_url: 'https://mcp.example' }, /`mcp` is not a function/],
  'a type of no text': [{ type: 7, name: 'f' }, /This is not a function/],
  'a custom tool without a schema': [{ type: 'custom', name: 'f', format: { type: 'grammar' } }, /needs an `input_schema`/],
  'two schemas': [{ name: 'f', parameters: schema, input_schema: schema }, /are one field/],
};

const PROVIDERS: Record<string, object | null> = {
  'the default runtime': null,
  openai: { provider_type: 'openai' },
  azure_openai: { provider_type: 'azure_openai', base_url: 'https://azure.example', azure_deployment: 'd' },
  openai_compatible: { provider_type: 'openai_compatible', base_url: 'https://models.example' },
  anthropic_messages: { provider_type: 'anthropic_messages' },
  anthropic: { provider_type: 'anthropic' },
  'anthropic with base_url': { provider_type: 'anthropic', base_url: 'https://models.example' },
};

async function providerOf(values: object | null) {
  if (!values) return null;
  const provider = { name: crypto.randomUUID(), api_key_token_name: 'vendor-key', default_model: 'm', ...values };
  return (await here.alice.ok(here.alice.post('/api/providers', provider), 201)).id as string;
}

describe.each(Object.keys(PROVIDERS))('a tool definition of an agent with %s', (kind) => {
  it('is stored in one shape, whichever vendor it was written for', async () => {
    const provider_id = await providerOf(PROVIDERS[kind]!);
    for (const [shape, tool] of Object.entries(FUNCTIONS)) {
      const values = { name: crypto.randomUUID(), provider_id, tool_definitions: [tool] };
      const made = await here.alice.post('/api/agents', values, { prefer: 'handling=strict' });
      expect([shape, made.status, made.body.tool_definitions]).toEqual([shape, 201, [NESTED]]);
      const changed = await here.alice.put(`/api/agents/${made.body.id}`, { tool_definitions: [tool] });
      expect([shape, changed.status, changed.body.tool_definitions]).toEqual([shape, 200, [NESTED]]);
      const back = await here.alice.put(`/api/agents/${made.body.id}`, changed.body, { prefer: 'handling=strict' });
      expect([shape, back.status, back.body.tool_definitions]).toEqual([shape, 200, [NESTED]]);
    }
  });

  it('is refused with what is taken instead if its vendor would have to run it', async () => {
    const provider_id = await providerOf(PROVIDERS[kind]!);
    const agent = await here.alice.ok(here.alice.post('/api/agents', { name: crypto.randomUUID(), provider_id }), 201);
    for (const [shape, [tool, sentence]] of Object.entries(REFUSED)) {
      const values = { name: crypto.randomUUID(), provider_id, tool_definitions: [NESTED, tool] };
      const imported = await here.alice.post('/api/agents/import', { items: [values] });
      expect([shape, imported.body.imported ?? 0, JSON.stringify(imported.body)]).toEqual([
        ...[shape, 0, expect.stringMatching(sentence)],
      ]);
      for (const answer of [
        await here.alice.post('/api/agents', values),
        await here.alice.put(`/api/agents/${agent.id}`, values),
      ])
        expect([shape, answer.status, answer.body.errors]).toEqual([
          ...[shape, 422, [{ path: 'tool_definitions.1', message: expect.stringMatching(sentence) }]],
        ]);
    }
  });
});

const SENT: [string, vendors.Rules, unknown][] = [
  ['openai_compatible', vendors.openai, NESTED],
  ['anthropic_messages', vendors.anthropic, { name: 'look_up', description, input_schema: schema }],
];

it.each(SENT)('a run at %s sends each shape as its vendor reads it', async (provider_type, rules, expected) => {
  const vendor = await startCompatibleVendor(rules);
  try {
    const provider_id = await providerOf({ provider_type, base_url: vendor.url });
    for (const [shape, tool] of Object.entries(FUNCTIONS)) {
      const id = await here.workflow({ agent: { provider_id, model: null, tool_definitions: [tool] } });
      expect([shape, (await here.ended(await here.prompt(id))).status]).toEqual([shape, 'completed']);
      expect([shape, vendor.requests.at(-1)!.tools]).toEqual([shape, [expected]]);
    }
  } finally {
    await vendor.stop();
  }
});
