import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { SUMMARY_INSTRUCTIONS } from '../../src/domain/compaction.ts';
import { createOutputGuards } from '../../src/main/wiring/guardrails.ts';
import { replay } from '../../src/replay/replay.ts';
import { testParsers } from '../support/contract/parsers.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { openaiAt, providerOf } from '../support/runs/fallbacks.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';
const rememberingWorkflow = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', output_format: 'markdown', ...options?.workflow } });

const sendTo = (workflow_id: string, prompt: string, more: object = {}) =>
  here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt, ...more }), 201);

async function finishTurn(workflow_id: string, prompt: string, more: object = {}) {
  const accepted = await sendTo(workflow_id, prompt, more);
  const task = await here.ended(accepted.task_id);
  expect(task.status).toBe('completed');
  return task;
}

const lastMessages = () => here.model.requests.at(-1)!.messages;

describe('a prompt to a workflow that remembers', () => {
  it('is a turn of a thread, which the next prompt continues: its model reads the calls and results of the turns before', async () => {
    const id = await rememberingWorkflow({ tools: [ADD] });
    const { name } = await toolOf(here, id);
    here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'), says('I added 17 and 25.'));
    const first = await finishTurn(id, 'Add 17 and 25.');
    expect(first).toMatchObject({ thread_id: first.id, thread_turn: 1, previous_task_id: null });
    const sent_first = lastMessages();
    const second = await finishTurn(id, 'What did you do?', { thread_id: first.thread_id });
    expect(second).toMatchObject({
      thread_id: first.id,
      thread_turn: 2,
      previous_task_id: first.id,
      response: 'I added 17 and 25.',
    });
    // What was sent before is the beginning of what is sent now, byte for byte, so that vendors find it in their caches.
    expect(JSON.stringify(lastMessages().slice(0, sent_first.length))).toBe(JSON.stringify(sent_first));
    expect(lastMessages().slice(sent_first.length)).toEqual([
      { role: 'assistant', content: 'It is 42.' },
      { role: 'user', content: 'What did you do?' },
    ]);
    expect(await here.alice.ok(here.alice.get(`/api/threads/${first.thread_id}`))).toMatchObject({
      workflow_id: id,
      title: 'Add 17 and 25.',
      head_task_id: second.id,
      active_task_id: null,
    });
  });

  it('waits for the turn before it, not for those of other threads', async () => {
    const id = await rememberingWorkflow();
    const before = here.model.requests.length;
    here.model.script(hangs('Thinking'), says('Seven.'));
    const slow = await sendTo(id, 'Three?');
    await until('the first turn asks its model', async () => here.model.requests.length === before + 1);
    const next = await sendTo(id, 'And then?', { thread_id: slow.thread_id });
    const other = await finishTurn(id, 'Seven?');
    expect(other.response).toBe('Seven.');
    const waiting = await here.alice.ok(here.alice.get(`/api/tasks/${next.task_id}`));
    expect(waiting).toMatchObject({ status: 'pending', thread_turn: 2, previous_task_id: slow.task_id });
    here.model.script(says('Then five.'));
    await here.alice.ok(here.alice.post(`/api/tasks/${slow.task_id}/stop`));
    expect(await here.ended(next.task_id)).toMatchObject({ status: 'completed', response: 'Then five.' });
    // The turn that was halted keeps its question, and what it had said.
    expect(lastMessages().slice(1)).toEqual([
      { role: 'user', content: 'Three?' },
      { role: 'assistant', content: 'Thinking' },
      { role: 'user', content: 'And then?' },
    ]);
  });
});

const isSummary = ({ messages }: ModelRequest) => messages[0]!.content === SUMMARY_INSTRUCTIONS;

it('a fork of a turn reads the turns before it, too, and is in no thread', async () => {
  const id = await rememberingWorkflow();
  here.model.script(says('Two.'), says('Five.'), says('Eleven.'));
  const first = await finishTurn(id, 'One prime?');
  const second = await finishTurn(id, 'Another?', { thread_id: first.thread_id });
  const fork = await here.alice.ok(
    here.alice.post(`/api/tasks/${second.id}/fork`, { from_step: 1, effects: 'stub', prompt: 'A larger one?' }),
    201,
  );
  expect(await here.ended(fork.task_id)).toMatchObject({
    ...{ status: 'completed', response: 'Eleven.', thread_id: null, thread_turn: 2, previous_task_id: first.id },
  });
  expect(lastMessages().slice(1)).toEqual([
    { role: 'user', content: 'One prime?' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'A larger one?' },
  ]);
  expect((await here.alice.ok(here.alice.get(`/api/threads/${first.thread_id}`))).head_task_id).toBe(second.id);
});

it('the files of each turn go with its prompt', async () => {
  const id = await rememberingWorkflow();
  const fileOf = (name: string, text: string) => ({
    name,
    data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
  });
  here.model.script(says('Read.'), says('Compared.'));
  const first = await finishTurn(id, 'Read this.', { attachments: [fileOf('a.txt', 'seventeen')] });
  await finishTurn(id, 'And this.', { thread_id: first.thread_id, attachments: [fileOf('b.txt', 'nineteen')] });
  expect(
    lastMessages()
      .slice(1)
      .map(({ content }) => content),
  ).toEqual([
    'Read this.\n\n<file name="a.txt">\nseventeen\n</file>',
    'Read.',
    'And this.\n\n<file name="b.txt">\nnineteen\n</file>',
  ]);
});

it('the bundle of a turn has what its model read of the turns before, and replays', async () => {
  const id = await rememberingWorkflow({ tools: [ADD] });
  const { name } = await toolOf(here, id);
  here.model.script(asks({ name, args: { a: 2, b: 3 } }), says('Five.'), asks({ name, args: { a: 5, b: 6 } }), says('Eleven.'));
  const first = await finishTurn(id, 'Add 2 and 3.');
  const second = await finishTurn(id, 'Add 6.', { thread_id: first.thread_id });
  const bundle = await here.alice.ok(here.alice.get(`/api/tasks/${second.id}/bundle`));
  expect(bundle.earlier.map(({ turn, kind }: any) => [turn, kind])).toEqual([
    ...[
      [1, 'prompt'],
      [1, 'reply'],
      [1, 'result'],
      [1, 'reply'],
    ],
  ]);
  const parsers = testParsers();
  try {
    const replayed = await replay(bundle as RunBundle, createOutputGuards(parsers.judge));
    expect(replayed).toMatchObject({ difference: null, steps: 2, calls: 1 });
  } finally {
    await parsers.close();
  }
});

describe('a long conversation', () => {
  it('is summarised once for the thread: later turns read the summary, and load nothing of what it covers', async () => {
    const provider_id = await providerOf(here.alice, { ...openaiAt(here.model.url), context_window: 1_000 });
    const id = await rememberingWorkflow({ agent: { provider_id, model: null } });
    let turn = 0;
    here.model.always((response, request) =>
      says(isSummary(request) ? 'NOTES.' : `Answer ${turn}. ${'x'.repeat(700)}`)(response, request),
    );
    const before = here.model.requests.length;
    const loaded: number[] = [];
    let thread_id: string | undefined;
    for (turn = 1; turn <= 11; turn += 1) {
      const task = await finishTurn(id, `Question ${turn}. ${'y'.repeat(300)}`, thread_id ? { thread_id } : {});
      thread_id = task.thread_id;
      const [row] = await here.sql('SELECT json_array_length(earlier_messages(id, true)) AS n FROM tasks WHERE id = $1', task.id);
      loaded.push(row.n);
    }
    const asked = here.model.requests.slice(before).filter((request) => !isSummary(request));
    const contents = asked.at(-1)!.messages.map(({ content }) => String(content).replace(/ [xy]+$/, ''));
    expect(contents.slice(1)).toEqual([
      'Notes on the work so far, which replace its older messages:\n\nNOTES.',
      'Question 9.',
      'Answer 9.',
      'Question 10.',
      'Answer 10.',
      'Question 11.',
    ]);
    // Every second turn writes a summary, in which the one before is contained.
    expect(loaded).toEqual([0, 2, 4, 6, 5, 7, 5, 7, 5, 7, 5]);
    const summaries = here.model.requests.slice(before).filter(isSummary);
    expect(summaries.map(({ messages }) => String(messages[1]!.content).split(':')[0])).toEqual([
      'user',
      'notes so far',
      'notes so far',
      'notes so far',
    ]);
  }, 120_000);
});
