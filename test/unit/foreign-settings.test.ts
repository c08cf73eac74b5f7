import { Client, InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { parseValue } from '../../src/api/http/validate.ts';
import { ProviderCreate } from '../../src/contracts/providers.ts';
import { FullImport } from '../../src/contracts/transfer.ts';
import { type FormQuestion, findChoices, listAnswerErrors } from '../../src/domain/questions.ts';
import { readConfig } from '../../src/main/config.ts';
import { createQuestions } from '../../src/tools/mcp/questions.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';

/** What a refusal of the work says, its fields included; nothing if it is accepted. */
async function saidBy(work: () => unknown): Promise<string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    const { message, errors = [] } = error as Error & { errors?: { message: string }[] };
    return [message, ...errors.map((one) => one.message)];
  }
}

/** A definition of a tool is rightly refused as `not a function`. */
const faultsIn = (sentences: string[]): string[] =>
  sentences.filter((sentence) => codeIn(sentence.replaceAll('is not a function', '')) !== null);

const PRICED = { name: 'p', provider_type: 'openai', price_table: { '*': { input: 1, output: 2, cache_read: 0.1 } } };
const BUNDLE = {
  version: '1.0',
  skills: [{ name: 's', instructions: 'x', tags: ['a'] }],
  agents: [{ name: 'a', model: 'm', tool_definitions: [{ type: 'function', function: { name: 'f', parameters: {} } }] }],
  workflows: [{ agent_id: 'a', title: 't', budget: { max_tokens: 5 }, stop: ['x'], credential_overrides: { A: 'b' } }],
  guardrails: [{ name: 'g', guardrail_type: 'prompt', config: { forbidden_patterns: ['x'] } }],
  knowledge_sources: [{ name: 'k', source_type: 'builtin', connection_config: { url: 'x' } }],
  scheduled_agents: [{ name: 's', workflow_id: 'w', prompt: 'p', cron: '0 7 * * *' }],
};

describe.each([
  ['a price table', ProviderCreate, PRICED],
  ['an import bundle', FullImport, BUNDLE],
])('%s', (_, schema, sample) => {
  it('is read as documented', async () => {
    expect(await saidBy(() => parseValue(schema, sample, 'body'))).toEqual([]);
  });

  it.each(placesIn(sample).map((path) => [path.join('.'), path] as const))(
    'speaks to people, whatever is at %s',
    async (_at, path) => {
      const all: string[] = [];
      for (const [, value] of ODD_VALUES)
        all.push(...(await saidBy(() => parseValue(schema, changedAt(sample, path, value), 'body'))));
      expect(faultsIn(all)).toEqual([]);
    },
  );
});

const ODD_SETTINGS = ['odd', ' ', '-1', '1e999', 'Infinity', '{', 'http://', '\u0000', '0x10', ',', 'x'.repeat(3_000)];
const settings = [...Object.keys(readConfig({})), 'PERDURA_PORT', 'DATABASE_URL', 'REDIS_URL', 'OIDC_ISSUER', 'TEMPORAL_ADDRESS'];

it.each([...new Set(settings)])('the setting %s is refused by name', async (name) => {
  const refusals: string[] = [];
  for (const text of ODD_SETTINGS)
    refusals.push(...(await saidBy(() => readConfig({ [name]: text }))).map((said) => said.replace(`=${text} is`, ' is')));
  expect(refusals.filter((said) => codeIn(said) !== null || !said.includes('is not valid: expected '))).toEqual([]);
});

describe('a question of an MCP server', () => {
  const QUESTION = {
    message: 'Which one?',
    requestedSchema: {
      type: 'object',
      properties: {
        size: { type: 'integer', title: 'Size', minimum: 1, maximum: 5, default: 2 },
        name: { type: 'string', description: 'Its name', minLength: 1, maxLength: 9, format: 'email' },
        kind: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
        many: { type: 'array', items: { type: 'string', enum: ['x'] }, minItems: 1 },
        sure: { type: 'boolean', default: true },
      },
      required: ['size'],
    },
  };

  /** What the person is asked, and what is said of an answer. */
  async function askedFor(params: object): Promise<{ asked: FormQuestion | null; said: string[] }> {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'perdura', version: '1' }, { capabilities: { elicitation: { form: {} } } });
    const endpoint = { kind: 'http' as const, url: 'https://mcp.test/mcp', headers: {} };
    const questions = createQuestions({ id: 'i', name: 'odd', network: false, paths: [], endpoint });
    questions.listen(client);
    const answered = Promise.withResolvers<JSONRPCMessage>();
    theirs.onmessage = (message) => {
      if ('method' in message && message.method === 'initialize' && 'id' in message) {
        const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } };
        void theirs.send({ jsonrpc: '2.0', id: message.id, result });
      } else if (!('method' in message)) answered.resolve(message);
    };
    await theirs.start();
    await client.connect(ours);
    let asked: FormQuestion | null = null;
    const said: string[] = [];
    const clock = { pause() {}, resume() {}, progress() {}, end() {} };
    const ask = async (question: FormQuestion) => {
      asked = question;
      return { action: 'decline' as const };
    };
    const call = { task_id: 't', ask, clock, refused: (sentence: string) => void said.push(sentence) };
    await questions.during(call as never, async () => {
      await theirs.send({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params } as JSONRPCMessage);
      await answered.promise;
    });
    await client.close();
    if (asked === null) return { asked, said };
    const { schema } = asked as FormQuestion;
    const names = Object.keys(schema.properties);
    for (const value of [null, 1, 'x', ['x'], true])
      said.push(
        ...listAnswerErrors(schema, Object.fromEntries(names.map((name) => [name, value]))).map(({ message }) => message),
      );
    for (const field of Object.values(schema.properties)) said.push(...(findChoices(field) ?? []).map(({ label }) => label));
    return { asked, said };
  }

  it('is asked as documented', async () => {
    expect((await askedFor(QUESTION)).asked).toMatchObject({
      message: 'Which one?',
      asked_by: { server: 'odd', host: 'mcp.test' },
    });
  });

  it.each(placesIn(QUESTION).map((path) => [path.join('.'), path] as const))(
    'speaks to people, whatever is at %s',
    async (_at, path) => {
      const all: string[] = [];
      for (const [, value] of ODD_VALUES) {
        const { asked, said } = await askedFor(changedAt(QUESTION, path, value));
        all.push(...said, ...(asked ? [asked.message] : []));
      }
      expect(faultsIn(all)).toEqual([]);
      expect(all.filter((one) => typeof one !== 'string')).toEqual([]);
    },
  );
});
