import { type UIMessage, validateUIMessages } from 'ai';
import { describe, expect, it } from 'vitest';
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
  status,
  TASK_ID,
} from '../../../support/front-ends/run-record.ts';
import { readMessage } from '../../../support/front-ends/ui-reader.ts';
import {
  ADDS,
  ASKS,
  chunksOf,
  framesOf,
  HELLO,
  idOf,
  messageOf,
  partsOf,
  typesOf,
  WAITS,
} from '../../../support/front-ends/ui-runs.ts';

describe('a run that waits', () => {
  it('ends the message when it asks for an approval', async () => {
    const { parts, metadata } = await messageOf(WAITS);
    expect(parts[2]).toMatchObject({ state: 'approval-requested', approval: { id: idOf('1-1') }, input: { a: 17 } });
    expect(metadata).toMatchObject({ status: 'waiting', event: FIRST + WAITS.length - 1 });
    expect((await chunksOf(WAITS)).at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
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

  it('shows a call that it knows only by the approval that it needs', async () => {
    const chunks = await typesOf([modelCall(1), ...asksApproval('1-1', 'add')]);
    expect(chunks.slice(-4)).toEqual(['tool-input-available', 'tool-approval-request', 'finish-step', 'finish']);
  });

  it('shows a denial with its reason', async () => {
    const denial = [
      log('tool_denied', 'Denied by a person: no', { call_id: '1-1' }),
      message('tool', 'Denied', { call_id: '1-1' }),
    ];
    const [, , part] = await partsOf([...WAITS, denied('1-1', 'no'), ...denial, ...completes()]);
    expect(part).toMatchObject({ state: 'output-denied', approval: { approved: false, reason: 'no' } });
  });

  it('keeps the message open while another call of the round is in progress', async () => {
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
  const last = async (events: readonly NewEvent[]) => (await chunksOf(events)).at(-1);

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
    const chunks = await chunksOf(events);
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

  it('is not reported if the record ends early', async () => {
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

  it('is asked to load the messages again if it has a number that the record does not have', async () => {
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
