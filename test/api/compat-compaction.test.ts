import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SUMMARY_INSTRUCTIONS, summaryMessage } from '../../src/domain/compaction.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, type ModelRequest, says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';
import { openaiAt as modelAt, providerOf } from '../support/runs/fallbacks.ts';
import { toolOf } from '../support/runs/run-facts.ts';

let here: TestInstallation;
let alice: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';
const isSummary = ({ messages }: ModelRequest) => messages[0]!.content === SUMMARY_INSTRUCTIONS;
/** Cuts the fill of a text off. */
const begin = (text: unknown) => String(text).replace(/ [xy]+$/, '');
const [TURNS, CALLING] = [8, 7];

/** Ways to continue a conversation: the parameters of the first response, and of one after another. */
const WAYS = {
  previous_response_id: async () => [{}, (id: string) => ({ previous_response_id: id })] as const,
  conversation: async () => {
    const { id: conversation } = await alice.conversations.create();
    return [{ conversation }, () => ({ conversation })] as const;
  },
};

/** Holds a conversation that fills the window of its model several times. In one of its turns the model calls a tool. */
async function converse([first, next]: Awaited<ReturnType<(typeof WAYS)[keyof typeof WAYS]>>) {
  const provider_id = await providerOf(here.alice, { ...modelAt(here.model.url), context_window: 1_000 });
  const model = await here.workflow({ tools: [ADD], agent: { provider_id, model: null } });
  const { name } = await toolOf(here, model);
  const before = here.model.requests.length;
  let turn = 0;
  here.model.always((response, request) => {
    const calls = turn === CALLING && request.messages.at(-1)!.role === 'user';
    const answer = calls ? asks({ name, args: { a: 17, b: 25 } }) : says(`Answer ${turn}. ${'x'.repeat(500)}`);
    return (isSummary(request) ? says('NOTES.') : answer)(response, request);
  });
  let place: object = first;
  const loaded: number[] = [];
  for (turn = 1; turn <= TURNS; turn += 1) {
    const { id, status } = await alice.responses.create({ model, ...place, input: `Question ${turn}. ${'y'.repeat(300)}` });
    expect(status).toBe('completed');
    place = next(id);
    const count = 'SELECT json_array_length(earlier_messages(id, true)) AS n FROM tasks WHERE id = $1';
    loaded.push((await here.sql(count, id.slice('resp_'.length)))[0].n);
  }
  return { tool: name, loaded, asked: here.model.requests.slice(before) };
}

it.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
  'a long conversation that continues by %s is summed up: responses read the summary, load nothing that it covers, and keep later calls',
  async (way) => {
    const { loaded, asked } = await converse(await WAYS[way]());
    expect(loaded).toEqual([0, 2, 4, 6, 8, 5, 7, 7]);
    const summed = asked.filter(isSummary).map(({ messages }) => String(messages[1]!.content));
    // Each summary contains the one before.
    expect(summed.map((text) => text.match(/Question \d|notes so far/g))).toEqual([
      ['Question 1', 'Question 2', 'Question 3'],
      ['notes so far', 'Question 4', 'Question 5'],
    ]);
    const sent = asked.at(-1)!.messages.slice(1);
    expect(
      sent.map(({ content, tool_calls, tool_call_id: id }) => [tool_calls?.[0]?.id ?? id, content && begin(content)]),
    ).toEqual([
      [undefined, summaryMessage('NOTES.')],
      [undefined, 'Question 6.'],
      [undefined, 'Answer 6.'],
      [undefined, 'Question 7.'],
      ['7-1-1', null],
      ['7-1-1', '{"result": 42}'],
      [undefined, 'Answer 7.'],
      [undefined, 'Question 8.'],
    ]);
  },
  60_000,
);

it('a conversation that has been summed up has all its items, and no summary', async () => {
  const { id: conversation } = await alice.conversations.create();
  const { tool } = await converse([{ conversation }, () => ({ conversation })]);
  const items: Record<string, any>[] = [];
  for await (const item of alice.conversations.items.list(conversation, { order: 'asc', limit: 7 })) items.push(item);
  const answered = (turn: number) => [`Question ${turn}.`, `Answer ${turn}.`];
  expect(items.map(({ content, name, output }) => name ?? output ?? begin(content[0].text))).toEqual([
    ...[1, 2, 3, 4, 5, 6].flatMap(answered),
    ...['Question 7.', tool, '{"result": 42}', 'Answer 7.'],
    ...answered(8),
  ]);
});
