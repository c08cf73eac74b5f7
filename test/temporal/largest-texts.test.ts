import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentCreate } from '../../src/contracts/agents.ts';
import { ProviderCreate } from '../../src/contracts/providers.ts';
import { ScheduledAgentCreate } from '../../src/contracts/scheduled-agents.ts';
import { WorkflowCreate } from '../../src/contracts/workflows.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

interface Place {
  type?: string;
  maxLength?: number;
  format?: string;
  pattern?: string;
  enum?: string[];
  anyOf?: Place[];
}

/** The fields of a request that take any text, each with the longest that it takes. */
function longestTexts({ shape }: z.ZodObject, character: string): Record<string, string> {
  const texts = Object.entries(shape).flatMap(([name, field]) => {
    const place = z.toJSONSchema(field as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Place;
    const text = [place, ...(place.anyOf ?? [])].find(({ type }) => type === 'string');
    if (!text?.maxLength || text.format || text.pattern || text.enum) return [];
    return [[name, character.repeat(text.maxLength)] as const];
  });
  return Object.fromEntries(texts);
}

/** What becomes part of a run in the engine, by the request that has it. */
const OF_RUNS = {
  provider: [ProviderCreate, ['name', 'default_model']],
  agent: [AgentCreate, ['name', 'model']],
  workflow: [WorkflowCreate, ['title', 'model']],
  schedule: [ScheduledAgentCreate, ['name']],
} satisfies Record<string, [z.ZodObject, string[]]>;

it.each(Object.entries(OF_RUNS))('a text of a %s that the engine gets has a limit', (_, [schema, fields]) => {
  expect(Object.keys(longestTexts(schema, 'x'))).toEqual(expect.arrayContaining(fields));
});

describe.each([
  ['of three bytes', '漢'],
  ['that are escaped', '\u0001'],
  ['of two units', '🜁'],
])('with the longest texts, of characters %s', (_, character) => {
  const longest = (schema: z.ZodObject) =>
    Object.fromEntries(
      Object.entries(longestTexts(schema, character)).map(([name, text]) => [
        name,
        text.slice(0, text.length / character.length),
      ]),
    );

  it('a run starts, calls a tool that nobody has, and ends; a schedule is saved', async () => {
    const { alice, model } = here;
    const base_url = model.url;
    const endpoint = { provider_type: 'openai_compatible', base_url, api_key_token_name: null, azure_api_version: null };
    const provider = await alice.ok(alice.post('/api/providers', { ...longest(ProviderCreate), ...endpoint }), 201);
    for (const given of [longest(AgentCreate), { ...longest(AgentCreate), name: character.repeat(20), model: null }]) {
      const agent = await alice.ok(alice.post('/api/agents', { ...given, provider_id: provider.id }), 201);
      const { model: named, title } = longest(WorkflowCreate);
      const workflow = await alice.ok(alice.post('/api/workflows', { agent_id: agent.id, title, model: null }), 201);
      model.script(asks({ name: character.repeat(250 / character.length), args: {} }), says('done'));
      expect(await here.ended(await here.prompt(workflow.id))).toMatchObject({ error: null, status: 'completed' });
      await alice.ok(alice.put(`/api/workflows/${workflow.id}`, { model: named }));
      model.script(says('done'));
      expect(await here.ended(await here.prompt(workflow.id))).toMatchObject({ error: null, status: 'completed', model: named });
      const { name } = longest(ScheduledAgentCreate);
      const hourly = { name, prompt: 'p', interval_value: 1, interval_unit: 'hours', workflow_id: workflow.id };
      await alice.ok(alice.post('/api/scheduled-agents', hourly), 201);
    }
  });

  it.each(['/api/agents', '/api/providers'])('one more is refused by %s', async (path) => {
    const field = path.endsWith('agents') ? 'model' : 'default_model';
    const text = character.repeat(501);
    const provider = { provider_type: 'openai_compatible', base_url: here.model.url };
    const { status, body } = await here.alice.post(path, { name: `long ${character}`, ...provider, [field]: text });
    expect([status, body.errors]).toEqual([422, [{ path: field, message: expect.stringContaining('500') }]]);
  });
});
