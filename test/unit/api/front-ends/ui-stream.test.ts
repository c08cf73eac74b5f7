import { type UIMessage, validateUIMessages } from 'ai';
import { describe, expect, it } from 'vitest';
import { streamUiMessage, type UiStream } from '../../../../src/api/compat/ui/stream.ts';
import type { NewEvent } from '../../../../src/events/task-events.ts';
import {
  approved,
  asksApproval,
  asksClient,
  call,
  callEnds,
  callStarts,
  completes,
  delta,
  denied,
  FIRST,
  log,
  message,
  modelCall,
  numbered,
  recordOf,
  status,
  TASK_ID,
  usage,
} from '../../../support/front-ends/run-record.ts';
import { listChunks, listFrames, readMessage, toFileUrl } from '../../../support/front-ends/ui-reader.ts';

const idOf = (call_id: string) => `call_${TASK_ID}_${call_id}`;
const FILE = { id: TASK_ID, name: 'plot.png', media_type: 'image/png', size: 7, sha256: 'ab' };

interface Reading extends Partial<UiStream> {
  /** The number of events that happen after the reader has come. */
  live?: number;
}

const framesOf = (events: readonly NewEvent[], { live = 0, ...options }: Reading = {}) =>
  listFrames(
    streamUiMessage(recordOf(numbered(events), live), { task_id: TASK_ID, toFileUrl, after: 0, client_tools: [], ...options }),
  );
const messageOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await readMessage(await framesOf(events, options))).message!;
const partsOf = async (events: readonly NewEvent[], options?: Reading) => (await messageOf(events, options)).parts;
const textsOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await partsOf(events, options)).flatMap((part) => (part.type === 'text' ? [part.text] : []));
const typesOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await listChunks(await framesOf(events, options))).map(({ type }) => type);

const HELLO = [modelCall(1), delta('Hel'), delta('lo'), message('assistant', 'Hello', { step: 1 })];
const ASKS = [modelCall(1), message('assistant', 'I add.', { step: 1, tool_calls: [call('1-1', 'add', '{"a":17}')] })];
const ADDS = [...ASKS, callStarts('1-1', 'add', '{"a":17}'), ...callEnds('1-1', 'add', '{"sum":42}')];
const WAITS = [...ASKS, ...asksApproval('1-1', 'add', '{"a":17}')];

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
    const events = [...ADDS, message('user', 'Faster!', { step: 2 }), modelCall(2), message('assistant', 'Ok', { step: 2 })];
    expect((await partsOf([...events, ...completes()])).slice(3)).toMatchObject([
      { type: 'steering-message', parts: [{ type: 'text', text: 'Faster!' }] },
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

  it('comes after the receipt of the message that it answers, which is not part of it', async () => {
    const receipt = { id: 'r7', state: 'started' };
    const [, second] = await listChunks(await framesOf(HELLO, { receipt }));
    expect(second).toEqual({ type: 'data-receipt', id: 'r7', data: receipt, transient: true });
    expect((await partsOf(HELLO, { receipt })).map(({ type }) => type)).toEqual(['step-start', 'text']);
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

describe('a run that waits', () => {
  it('ends the message when it asks for an approval', async () => {
    const { parts, metadata } = await messageOf(WAITS);
    expect(parts[2]).toMatchObject({ state: 'approval-requested', approval: { id: idOf('1-1') }, input: { a: 17 } });
    expect(metadata).toMatchObject({ status: 'waiting', event: FIRST + WAITS.length - 1 });
    expect((await listChunks(await framesOf(WAITS))).at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
  });

  it('ends the message with the last event of the rest, so that nothing of it comes again', async () => {
    const { metadata } = await messageOf(WAITS, { live: 2 });
    expect(metadata).toMatchObject({ event: FIRST + WAITS.length - 1 });
  });

  it('continues the message after the approval, without what the page has', async () => {
    const before = await messageOf(WAITS);
    const after = (before.metadata as { event: number }).event;
    const events = [...WAITS, approved('1-1'), callStarts('1-1', 'add'), ...callEnds('1-1', 'add', '42')];
    const rest = [...events, modelCall(2), message('assistant', 'It is 42.', { step: 2 }), ...completes()];
    const { message: whole } = await readMessage(await framesOf(rest, { after, live: 3 }), before);
    expect(whole?.id).toBe(TASK_ID);
    expect(whole?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I add.' },
      { type: 'dynamic-tool', state: 'output-available', output: '42', approval: { approved: true } },
      { type: 'step-start' },
      { type: 'text', text: 'It is 42.' },
    ]);
    expect(await validateUIMessages({ messages: [whole!] })).toHaveLength(1);
  });

  it('shows a denial with its reason', async () => {
    const denial = [
      log('tool_denied', 'Denied by a person: no', { call_id: '1-1' }),
      message('tool', 'Denied', { call_id: '1-1' }),
    ];
    const [, , part] = await partsOf([...WAITS, denied('1-1', 'no'), ...denial, ...completes()]);
    expect(part).toMatchObject({ state: 'output-denied', approval: { approved: false, reason: 'no' } });
  });

  it('keeps the message open while another call of the round goes on', async () => {
    const calls = [call('1-1', 'add'), call('1-2', 'draw')];
    const asked = [modelCall(1), message('assistant', '', { step: 1, tool_calls: calls }), ...asksApproval('1-1', 'add')];
    expect(await typesOf(asked)).not.toContain('finish');
    expect(await typesOf([...asked, callStarts('1-2', 'draw')], { live: 1 })).not.toContain('finish');
    const drawn = [...asked, callStarts('1-2', 'draw'), ...callEnds('1-2', 'draw', 'ok')];
    expect((await typesOf(drawn, { live: 2 })).at(-1)).toBe('finish');
  });

  it('does not wait for a call beyond the turn limit', async () => {
    const calls = [call('1-1', 'add'), call('1-2', 'add')];
    const asked = [modelCall(1), message('assistant', '', { step: 1, tool_calls: calls }), ...asksApproval('1-1', 'add')];
    expect(await typesOf(asked, { max_turns: 2 })).not.toContain('finish');
    expect(await typesOf(asked, { max_turns: 1 })).toContain('finish');
  });

  it('gives the page the calls that it executes, and takes its result', async () => {
    const client_tools = ['add'];
    const events = [...ASKS, ...asksClient('1-1', 'add')];
    const before = await messageOf(events, { client_tools });
    expect(before.parts[2]).toMatchObject({ type: 'tool-add', state: 'input-available', input: { a: 17 } });
    expect(before.parts[2]).not.toHaveProperty('providerExecuted');
    const answered = [log('client_call_answered', 'ann sent the result', { call_id: '1-1' }), ...callEnds('1-1', 'add', '42')];
    const after = (before.metadata as { event: number }).event;
    const frames = await framesOf([...events, ...answered, ...completes()], { client_tools, after });
    expect((await readMessage(frames, before)).message?.parts[2]).toMatchObject({ state: 'output-available', output: '42' });
  });

  it('stays open for a question of a tool, which is answered elsewhere', async () => {
    const question = {
      ...{ id: TASK_ID, message: 'Which city?', asked_by: { server: 'maps', host: null }, schema: { properties: {} } },
      ...{ asked_at: '2026-01-31T12:00:00.000Z', expires_at: '2026-01-31T12:10:00.000Z' },
    };
    const asked = [
      ...ASKS,
      log('question_asked', 'Which city?', { call_id: '1-1', name: 'add', question }),
      status('waiting', 0),
    ];
    expect(await typesOf(asked)).not.toContain('finish');
    expect((await partsOf(asked)).at(-1)).toMatchObject({
      ...{ type: 'data-wait', id: 'question-1-1' },
      data: { reason: 'question', question: { message: 'Which city?' }, until: question.expires_at, over: false },
    });
    const answered = log('question_answered', 'ann', { call_id: '1-1', question_id: TASK_ID, outcome: 'accept' });
    const waits = (await partsOf([...asked, answered])).filter(({ type }) => type === 'data-wait');
    expect(waits).toMatchObject([{ data: { over: true } }]);
  });

  it.each([
    ['rate_limit', log('rate_limited', 'Limited', { step: 1, wait_ms: 3000 }), delta('Hi'), '2026-01-31T12:00:03.000Z'],
    ['retry', log('retry', 'It failed', { step: 1, wait_ms: 5000 }), delta('Hi'), '2026-01-31T12:00:05.000Z'],
    ['budget', log('budget_exhausted', 'Used up', { step: 1, on_exhausted: 'wait' }), status('running', 0), undefined],
    [
      'record_behind',
      log('record_behind', 'Older', { missing: 'a step' }),
      log('continuity_decided', 'ann', { decision: 'resume', by: 'ann' }),
      undefined,
    ],
  ])('names a wait for %s, and its end', async (reason, begin, end, until) => {
    const waits = async (events: NewEvent[]) => (await partsOf(events)).filter(({ type }) => type === 'data-wait');
    const open = { id: reason, data: { reason, detail: expect.any(String), over: false, ...(until ? { until } : {}) } };
    expect(await waits([modelCall(1), begin])).toMatchObject([open]);
    expect(await waits([modelCall(1), begin, end])).toMatchObject([{ data: { over: true } }]);
  });
});

describe('the end of a run', () => {
  const last = async (events: readonly NewEvent[]) => (await listChunks(await framesOf(events))).at(-1);

  it('finishes the message', async () => {
    expect(await last([...HELLO, ...completes()])).toMatchObject({ type: 'finish', finishReason: 'stop' });
    expect((await framesOf([...HELLO, ...completes()])).at(-1)).toEqual({ data: '[DONE]' });
  });

  it('says that an answer ended at the output limit', async () => {
    const cut = [modelCall(1), message('assistant', 'Long', { step: 1, truncated: true }), ...completes()];
    expect(await last(cut)).toMatchObject({ finishReason: 'length' });
  });

  it('is an error if the run failed', async () => {
    const failure = { error: 'The model is down', error_code: 'unreachable' };
    const { message: failed, errors } = await readMessage(await framesOf([...HELLO, status('failed', 1, failure)]));
    expect(errors).toEqual(['The model is down']);
    expect(failed?.metadata).toMatchObject({ status: 'failed', error_code: 'unreachable' });
  });

  it('aborts the message if a person halted the run, whose open calls are closed', async () => {
    const events = [...WAITS, log('halted', 'Halted by a person'), status('halted', 1)];
    const chunks = await listChunks(await framesOf(events));
    expect(chunks.slice(-2)).toMatchObject([{ type: 'abort' }, { type: 'finish', finishReason: 'interrupted' }]);
    const halted = await messageOf(events);
    expect(halted.parts[2]).toMatchObject({ state: 'output-denied', approval: { approved: false } });
    expect(await validateUIMessages({ messages: [halted] })).toHaveLength(1);
  });

  it('keeps the unfinished text of a halted run', async () => {
    const events = [modelCall(1), delta('Hel'), status('halted', 1)];
    expect((await partsOf(events))[1]).toEqual({ type: 'text', text: 'Hel', state: 'done' });
  });

  it('shows the results that the end of the run gives to open calls as failures', async () => {
    const calls = [call('1-1', 'add'), call('1-2', 'draw')];
    const asked = [modelCall(1), message('assistant', '', { step: 1, tool_calls: calls }), ...asksApproval('1-1', 'add')];
    const left = [message('tool', 'Not called.', { call_id: '1-1' }), message('tool', 'Unknown.', { call_id: '1-2' })];
    expect((await partsOf([...asked, callStarts('1-2', 'draw'), ...left, status('halted', 1)])).slice(1)).toMatchObject([
      { state: 'output-denied', approval: { approved: false, reason: 'Not called.' } },
      { state: 'output-error', errorText: 'Unknown.' },
    ]);
  });

  it('ends the waits of the run', async () => {
    const events = [modelCall(1), log('rate_limited', 'Limited', { step: 1, wait_ms: 3000 }), status('halted', 1)];
    expect((await partsOf(events)).filter(({ type }) => type === 'data-wait')).toMatchObject([{ data: { over: true } }]);
  });

  it('closes a call whose outcome nobody knows', async () => {
    const [, , part] = await partsOf([...ASKS, callStarts('1-1', 'add'), status('halted', 1)]);
    expect(part).toMatchObject({ state: 'output-error', errorText: expect.stringContaining('the tool may have run') });
  });

  it('is not told if the record ends early', async () => {
    expect(await typesOf(HELLO)).not.toContain('finish');
    expect((await framesOf(HELLO)).at(-1)?.data).not.toBe('[DONE]');
  });

  it('is an error if the installation was restored', async () => {
    const { errors } = await readMessage(await framesOf([...HELLO, log('stream_reset', 'Restored.')], { live: 1 }));
    expect(errors).toEqual(['Restored.']);
  });
});

describe('a reader that comes again', () => {
  const SECOND = [modelCall(2), delta('Su'), delta('m'), message('assistant', 'Sum', { step: 2 }), ...completes()];
  const events = [...ADDS, ...SECOND];
  const ALL = 'I add.|dynamic-tool|Sum';
  const AFTER_SU = FIRST + ADDS.length + 1;

  it('gets the whole message from its beginning, with the same id', async () => {
    expect(await messageOf(events, { live: 4 })).toEqual(await messageOf(events));
  });

  it('gets a number only with the last chunk of each event, in order', async () => {
    const frames = await framesOf(events);
    const ids = frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(ids.at(-1)).toBe(FIRST + events.length - 1);
    const called = frames.findIndex(({ data }) => (data as { type: string }).type === 'tool-input-available');
    expect(frames.slice(called - 3, called + 1).map(({ id }) => id)).toEqual([undefined, undefined, undefined, FIRST + 1]);
  });

  it('continues after any number without a gap, and with a text opened again', async () => {
    const whole = await framesOf(events);
    // The client shows the beginning of a step only with what follows it.
    const show = (parts: UIMessage['parts']) =>
      parts.flatMap((part) => (part.type === 'text' ? [part.text] : part.type === 'step-start' ? [] : [part.type])).join('|');
    const numbers = whole.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const joined = await Promise.all(
      numbers.map(async (after) => {
        const had = whole.slice(0, whole.findIndex(({ id }) => id === after) + 1);
        const { message: before } = await readMessage(had);
        return show((await readMessage(await framesOf(events, { after }), before)).message!.parts);
      }),
    );
    expect(joined.toSorted()).toEqual(numbers.map((at) => (at === AFTER_SU ? 'I add.|dynamic-tool|Su|m' : ALL)).toSorted());
  });

  it('is told to load the messages again if it has a number that the record does not have', async () => {
    const frames = await framesOf(ADDS, { after: FIRST + ADDS.length });
    expect((await readMessage(frames)).errors).toEqual([expect.stringContaining('load the messages again')]);
    expect((await readMessage(await framesOf(ADDS, { after: FIRST + ADDS.length - 1 }))).errors).toEqual([]);
  });

  it('does not end at a rest that is over', async () => {
    const rest = [approved('1-1'), callStarts('1-1', 'add'), ...callEnds('1-1', 'add', '42'), ...completes()];
    expect((await typesOf([...WAITS, ...rest])).filter((type) => type === 'finish')).toHaveLength(1);
    expect((await messageOf([...WAITS, ...rest])).metadata).toMatchObject({ status: 'completed' });
  });
});
