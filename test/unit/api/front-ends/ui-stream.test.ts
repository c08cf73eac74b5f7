import { validateUIMessages } from 'ai';
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../../src/events/task-events.ts';
import {
  call,
  callEnds,
  callStarts,
  completes,
  delta,
  FIRST,
  log,
  MESSAGE_ID,
  message,
  modelCall,
  status,
  steers,
  TASK_ID,
  usage,
} from '../../../support/front-ends/run-record.ts';
import { toFileUrl } from '../../../support/front-ends/ui-reader.ts';
import { ADDS, ASKS, HELLO, idOf, messageOf, partsOf, textsOf, typesOf } from '../../../support/front-ends/ui-runs.ts';

const FILE = { id: TASK_ID, name: 'plot.png', media_type: 'image/png', size: 7, sha256: 'ab' };

describe('the message of a run', () => {
  it('has the text that the model writes', async () => {
    expect(await messageOf([...HELLO, ...completes()])).toMatchObject({
      id: TASK_ID,
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'Hello', state: 'done' }],
    });
  });

  it('has what the model thought, if its endpoint shows it', async () => {
    const events = [modelCall(1), message('assistant', 'Yes', { step: 1, reasoning: 'So it is.' }), ...completes()];
    expect(await partsOf(events)).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'So it is.', state: 'done' },
      { type: 'text', text: 'Yes' },
    ]);
  });

  it('has the calls of workers with arguments, results and files, which the page does not execute', async () => {
    const events = [
      ...ASKS,
      callStarts('1-1', 'add'),
      ...callEnds('1-1', 'add', '{"sum":42}', { files: [FILE] }),
      ...completes(),
    ];
    expect((await partsOf(events)).slice(2)).toMatchObject([
      {
        type: 'dynamic-tool',
        toolName: 'add',
        toolCallId: idOf('1-1'),
        state: 'output-available',
        input: { a: 17 },
        output: { sum: 42 },
        providerExecuted: true,
        toolMetadata: { duration_ms: 31 },
      },
      { type: 'file', mediaType: 'image/png', url: toFileUrl(FILE) },
    ]);
  });

  it('has arguments and results that are no JSON as they are', async () => {
    const events = [
      modelCall(1),
      message('assistant', '', { step: 1, tool_calls: [call('1-1', 'add', '{"a":')] }),
      ...callEnds('1-1', 'add', '[broken', { failed: true }),
      ...completes(),
    ];
    expect((await partsOf(events))[1]).toMatchObject({ state: 'output-error', input: '{"a":', errorText: '[broken' });
  });

  it('has the calls that ran at the provider of the model', async () => {
    const there = { call_id: 'srv_7', name: 'web_search', ran_at: 'provider' as const };
    const events = [
      modelCall(1),
      log('tool_call', 'web_search', { ...there, arguments: '{"q":"x"}' }),
      log('tool_result', 'web_search', { ...there, failed: false, result: 'found' }),
      message('assistant', 'Found', { step: 1 }),
      ...completes(),
    ];
    expect((await partsOf(events))[1]).toMatchObject({ toolName: 'web_search', output: 'found', providerExecuted: true });
  });

  it('says of calls beyond the turn limit that they are not made, once', async () => {
    const calls = [call('1-1', 'add'), call('1-2', 'add'), call('1-3', 'add')];
    const events = [
      modelCall(1),
      message('assistant', '', { step: 1, tool_calls: calls }),
      ...callEnds('1-1', 'add', 'a'),
      ...callEnds('1-2', 'add', 'b'),
      log('tool_denied', 'The turn limit is reached', { call_id: '1-3' }),
      message('tool', 'Denied: the turn limit', { call_id: '1-3' }),
      ...completes(),
    ];
    expect((await partsOf(events, { max_turns: 2 })).slice(1)).toMatchObject([
      { state: 'output-available', output: 'a' },
      { state: 'output-available', output: 'b' },
      { state: 'output-error', errorText: expect.stringContaining('the turn limit of this run is reached') },
    ]);
    expect((await typesOf(events, { max_turns: 2 })).filter((type) => type === 'tool-output-error')).toHaveLength(1);
    expect((await partsOf(events))[3]).toMatchObject({ state: 'output-error', errorText: 'Denied: the turn limit' });
  });

  it('counts the calls of all rounds, and those before a fork, against the turn limit', async () => {
    const round = (step: number, name: string) => [
      modelCall(step),
      message('assistant', '', { step, tool_calls: [call(`${step}-1`, name)] }),
    ];
    const two = [...round(1, 'add'), ...callEnds('1-1', 'add', 'a'), ...round(2, 'draw')];
    const states = async (events: readonly NewEvent[]) =>
      (await partsOf(events, { max_turns: 2 })).flatMap((part) => ('state' in part ? [part.state] : []));
    expect(await states(two)).toEqual(['output-available', 'input-available']);
    expect(await states([...two, ...callEnds('2-1', 'draw', 'b'), ...round(3, 'add')])).toEqual([
      ...['output-available', 'output-available', 'output-error'],
    ]);
    expect(await states([status('running', 1), ...two])).toEqual(['output-available', 'output-error']);
    expect(await states([status('running', 2), ...round(3, 'add')])).toEqual(['output-error']);
  });

  it('has a long text in pieces', async () => {
    const long = 'a'.repeat(16 * 1024 + 1);
    const events = [modelCall(1), message('assistant', long, { step: 1 }), ...completes()];
    expect((await typesOf(events)).filter((type) => type === 'text-delta')).toHaveLength(2);
    expect(await textsOf(events)).toEqual([long]);
  });

  it('has what a person says to the run while it works', async () => {
    const events = [...ADDS, steers('Faster!', 2), modelCall(2), message('assistant', 'Ok', { step: 2 })];
    expect((await partsOf([...events, ...completes()])).slice(3)).toMatchObject([
      { type: 'steering-message', id: MESSAGE_ID, parts: [{ type: 'text', text: 'Faster!' }] },
      { type: 'step-start' },
      { type: 'text', text: 'Ok' },
    ]);
  });

  it('has the to-do list in its newest state', async () => {
    const todo = (status: string) => log('progress', 'todo', { todos: [{ id: 'a', title: 'Add', status }] });
    const events = [...ADDS, todo('open'), todo('done'), ...completes()];
    expect((await partsOf(events)).filter(({ type }) => type === 'data-todos')).toMatchObject([{ data: [{ status: 'done' }] }]);
  });

  it('has usage, status and the number of its last event as metadata, besides those of its thread', async () => {
    const used = { total_in: 13, total_out: 5, cost: 0.5, cache_read: 3, cache_write: 2, premium_requests: 0 };
    const events = [...HELLO, usage({ ...used, steps: 1 } as never), ...completes()];
    expect((await messageOf(events, { metadata: { thread_id: 't' } })).metadata).toEqual({
      ...{ thread_id: 't', task_id: TASK_ID, status: 'completed', event: FIRST + events.length - 1 },
      usage: { input_tokens: 13, output_tokens: 5, cache_read: 3, cache_write: 2, cost: 0.5 },
    });
  });

  it('is valid for the AI SDK when a page sends it back', async () => {
    const messages = [await messageOf([...ADDS, ...completes()])];
    expect(await validateUIMessages({ messages })).toMatchObject([{ id: TASK_ID }]);
  });
});

describe('a text that is sent again', () => {
  const again = log('attempt_reset', 'again', { step: 1 });

  it('replaces the unfinished one', async () => {
    const events = [modelCall(1), delta('Hel'), again, modelCall(1), delta('Bye'), message('assistant', 'Bye', { step: 1 })];
    expect(await textsOf([...events, ...completes()])).toEqual(['Bye']);
    expect(await textsOf(events.slice(0, 4), { live: 2 })).toEqual([]);
  });

  it('leaves the steps before it as they are', async () => {
    const second = [modelCall(2), delta('Su'), log('attempt_reset', 'again', { step: 2 }), modelCall(2), delta('Sum: 42')];
    const events = [...ADDS, ...second, message('assistant', 'Sum: 42', { step: 2 }), ...completes()];
    expect(await textsOf(events)).toEqual(['I add.', 'Sum: 42']);
  });

  it('is not announced if nothing was written', async () => {
    expect(await typesOf([modelCall(1), again, ...HELLO, ...completes()])).not.toContain('reset-step');
  });

  it('is replaced by the message if it differs', async () => {
    expect(await textsOf([modelCall(1), delta('Hel'), message('assistant', 'Bye', { step: 1 }), ...completes()])).toEqual([
      'Bye',
    ]);
  });

  it('is completed by the message if it was not written to its end', async () => {
    expect(await textsOf([modelCall(1), delta('Hel'), message('assistant', 'Hello', { step: 1 }), ...completes()])).toEqual([
      'Hello',
    ]);
  });
});
