import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
beforeAll(async () => {
  here = await startTestInstallation();
  alice = openaiAt(here.url, ALICE);
});
afterAll(() => here?.stop());

/** What the model reports; every number differs from all others and from their sums. */
const USAGE = { prompt_tokens: 1_009, completion_tokens: 211, prompt_tokens_details: { cached_tokens: 307 } };
// Beginning, start and end differ, and a rounded second would be another one.
const [CREATED, STARTED, ENDED] = ['2024-02-29T11:59:59.999Z', '2024-03-01T01:02:03.004Z', '2024-03-02T05:06:07.008Z'] as const;
const CLIENT_TOOL = [{ type: 'function' as const, function: { name: 'add', parameters: { type: 'object', properties: {} } } }];
const MESSAGES = [{ role: 'user' as const, content: 'x' }];

type Row = Record<string, any>;
const toSeconds = (at: Date) => Math.floor(at.getTime() / 1_000);
/** The value of each figure by its path, computed from the row of the task. */
const FIGURES: Record<string, (row: Row) => number> = {
  created: ({ created_at }) => toSeconds(created_at),
  created_at: ({ created_at }) => toSeconds(created_at),
  'usage.prompt_tokens': ({ total_in }) => total_in,
  'usage.input_tokens': ({ total_in }) => total_in,
  'usage.completion_tokens': ({ total_out }) => total_out,
  'usage.output_tokens': ({ total_out }) => total_out,
  'usage.total_tokens': ({ total_in, total_out }) => total_in + total_out,
  'usage.prompt_tokens_details.cached_tokens': ({ cache_read }) => cache_read,
  'usage.input_tokens_details.cached_tokens': ({ cache_read }) => cache_read,
  // No endpoint that Perdura calls reports them apart.
  'usage.output_tokens_details.reasoning_tokens': () => 0,
  'choices.0.index': () => 0,
  'choices.0.delta.tool_calls.0.index': () => 0,
};

function listNumbers(value: unknown, at = ''): [string, number][] {
  if (typeof value === 'number') return [[at, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => listNumbers(inner, at ? `${at}.${name}` : name));
}

const sql = async (text: string, ...values: unknown[]) => (await here.core.database.pool.query(text, values)).rows as Row[];
const readRow = async (task_id: string) => (await sql('SELECT * FROM tasks WHERE id = $1', task_id))[0]!;
const parseId = (id: string) => id.replace(/^[a-z]+_|^chatcmpl-/, '');

/** Compares every number and id of an answer with the task's row. */
async function expectFigures(answer: object): Promise<Row> {
  const { id } = answer as { id: string };
  const row = await readRow(parseId(id));
  expect(['chatcmpl-', 'resp_'].map((prefix) => `${prefix}${row.id}`)).toContain(id);
  const numbers = listNumbers(answer);
  const expected = numbers.map(([at]) => [at, FIGURES[at]?.(row) ?? `no second computation of ${at}`]);
  expect(numbers).toEqual(expected);
  return row;
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const parts: T[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const chat = (model: string, more: object = {}) =>
  alice.chat.completions.create({ model, messages: MESSAGES, ...more } as OpenAI.ChatCompletionCreateParamsNonStreaming);
const chatStream = async (model: string, more: object = {}, headers: Record<string, string> = {}) => {
  const options = { stream: true as const, stream_options: { include_usage: true } };
  return collect(await alice.chat.completions.create({ model, messages: MESSAGES, ...options, ...more }, { headers }));
};
/** Returns the responses inside a stream, the last one last. */
const listResponses = (events: OpenAI.Responses.ResponseStreamEvent[]) =>
  events.flatMap((event) => ('response' in event ? [event.response] : []));

/** Every way to receive a run under /v1. Each begins one run of the model, and returns its answers. */
const FORMATS: Record<string, (model: string) => Promise<object[]>> = {
  'a completion': async (model) => [await chat(model)],
  'a streamed completion': (model) => chatStream(model),
  'a response': async (model) => [await alice.responses.create({ model, input: 'x' })],
  'a streamed response': async (model) =>
    listResponses(await collect(await alice.responses.create({ model, input: 'x', stream: true }))).slice(-1),
  'a response of a conversation': async (model) => {
    const { id: conversation } = await alice.conversations.create({});
    const response = await alice.responses.create({ model, input: 'x', conversation });
    const row = await readRow(parseId(response.id));
    expect([`conv_${row.conversation_id}`, response.conversation?.id]).toEqual([conversation, conversation]);
    const { data } = await alice.conversations.items.list(conversation, { order: 'asc' });
    expect(data.map(({ id }) => id)).toEqual([`msg_${row.id}_0_0`, `msg_${row.id}`]);
    return [response];
  },
};

describe('the figures of a run under /v1 are those of its record', () => {
  it.each(Object.keys(FORMATS))('in %s', async (format) => {
    const model = await here.workflow();
    here.model.script(says('One two.', { usage: USAGE }));
    const answers = await FORMATS[format]!(model);
    for (const answer of answers) {
      const row = await expectFigures(answer);
      expect(row).toMatchObject({ total_in: 1_009, total_out: 211, cache_read: 307 });
    }
    expect(listNumbers(answers.at(-1)).filter(([at]) => at.startsWith('usage.')).length).toBeGreaterThan(3);
  });

  it('if it is read later, in any format', async () => {
    const model = await here.workflow();
    here.model.script(says('One two.', { usage: USAGE }));
    const { id } = await chat(model);
    const task_id = parseId(id);
    await sql(
      'UPDATE tasks SET created_at = $1, started_at = $2, completed_at = $3, total_in = 503, total_out = 71, cache_read = 97 WHERE id = $4',
      ...[CREATED, STARTED, ENDED, task_id],
    );
    const streamed = await collect(await alice.responses.retrieve(`resp_${task_id}`, { stream: true }));
    const answers = [
      await alice.chat.completions.retrieve(id),
      await alice.responses.retrieve(`resp_${task_id}`),
      ...listResponses(streamed),
    ];
    for (const answer of answers) await expectFigures(answer);
    expect(answers.map((answer) => ('created' in answer ? answer.created : answer.created_at))).toEqual(
      answers.map(() => 1_709_207_999),
    );
    const numbers = streamed.map(({ sequence_number }) => sequence_number);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('if a streamed completion is repeated long after its run has begun', async () => {
    const model = await here.workflow();
    here.model.script(says('One two.', { usage: USAGE }));
    const again = { 'idempotency-key': 'once' };
    const [first] = await chatStream(model, {}, again);
    await sql('UPDATE tasks SET created_at = $1 WHERE id = $2', CREATED, parseId(first!.id));
    const chunks = await chatStream(model, {}, again);
    expect(chunks.map(({ id, created }) => [id, created])).toEqual(chunks.map(() => [first!.id, 1_709_207_999]));
    for (const chunk of chunks) await expectFigures(chunk);
  });

  it('while it waits for its client, and after it was cancelled', async () => {
    const model = await here.workflow();
    here.model.script(asks({ name: 'add' }), hangs('Some'));
    const answers = await chatStream(model, { tools: CLIENT_TOOL });
    for (const chunk of answers) await expectFigures(chunk);
    const task_id = parseId(answers[0]!.id);
    await expectFigures(await alice.responses.retrieve(`resp_${task_id}`));
    await expectFigures(await alice.responses.cancel(`resp_${task_id}`));
    expect((await readRow(task_id)).status).toBe('halted');
  });
});
