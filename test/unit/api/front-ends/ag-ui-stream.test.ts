import { describe, expect, it } from 'vitest';
import type { AgUiMessage } from '../../../../src/api/compat/ag-ui/messages.ts';
import { type AgUiStream, startRun, streamAgUi } from '../../../../src/api/compat/ag-ui/stream.ts';
import type { NewEvent } from '../../../../src/events/task-events.ts';
import { readRun } from '../../../support/front-ends/ag-ui-reader.ts';
import {
  approved,
  asksApproval,
  asksClient,
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
  numbered,
  recordOf,
  status,
  steers,
  TASK_ID,
  usage,
} from '../../../support/front-ends/run-record.ts';
import { listFrames, toFileUrl } from '../../../support/front-ends/ui-reader.ts';

const PROMPT: AgUiMessage = { id: 'm1', role: 'user', content: 'Add.' };
const EARLIER: AgUiMessage = { id: 'm0', role: 'assistant', content: 'Hi' };
const idOf = (call_id: string) => `call_${TASK_ID}_${call_id}`;
const FILE = { id: TASK_ID, name: 'plot.png', media_type: 'image/png', size: 7, sha256: 'ab' };

interface Reading extends Partial<AgUiStream> {
  live?: number;
}

const framesOf = async (events: readonly NewEvent[], { live = 0, ...options }: Reading = {}) => {
  const stream: AgUiStream = {
    ...{ task_id: TASK_ID, toFileUrl, thread_id: 'thread-1', run_id: 'run-1', client_tools: [] },
    ...{ earlier: [EARLIER, PROMPT], resumed: false },
    ...options,
  };
  return [startRun(stream), ...(await listFrames(streamAgUi(recordOf(numbered(events), live), stream)))];
};
const eventsOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await framesOf(events, options)).map(({ data }) => data as { type: string } & Record<string, any>);
const typesOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await eventsOf(events, options)).map(({ type }) => type);
/** What a page shows that has sent the prompt. */
const readOf = async (events: readonly NewEvent[], options?: Reading) =>
  readRun(await framesOf(events, options), [EARLIER, PROMPT]);
/** The messages that the run has made. */
const messagesOf = async (events: readonly NewEvent[], options?: Reading) => (await readOf(events, options)).messages.slice(2);

const HELLO = [modelCall(1), delta('Hel'), delta('lo'), message('assistant', 'Hello', { step: 1 })];
const ASKS = [modelCall(1), message('assistant', 'I add.', { step: 1, tool_calls: [call('1-1', 'add', '{"a":17}')] })];
const ADDS = [...ASKS, callStarts('1-1', 'add', '{"a":17}'), ...callEnds('1-1', 'add', '42')];
const WAITS = [...ASKS, ...asksApproval('1-1', 'add', '{"a":17}')];

describe('the run of a task', () => {
  it('begins with its ids and the version of the protocol, and has the text that the model writes', async () => {
    const [first] = await eventsOf([...HELLO, ...completes()]);
    expect(first).toEqual({ type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1', protocolVersion: '1.0' });
    expect(await messagesOf([...HELLO, ...completes()])).toEqual([{ id: `${TASK_ID}-1`, role: 'assistant', content: 'Hello' }]);
  });

  it('has calls in the message that makes them, with their results and files', async () => {
    const events = [...ASKS, callStarts('1-1', 'add'), ...callEnds('1-1', 'add', '42', { files: [FILE] }), ...completes()];
    const toolCalls = [{ id: idOf('1-1'), type: 'function', function: { name: 'add', arguments: '{"a":17}' } }];
    const source = { type: 'url', value: toFileUrl(FILE), mimeType: 'image/png' };
    expect(await messagesOf(events)).toEqual([
      { id: `${TASK_ID}-1`, role: 'assistant', content: 'I add.', toolCalls },
      {
        ...{ id: `${TASK_ID}-result-1-1`, role: 'tool', toolCallId: idOf('1-1') },
        content: [
          { type: 'text', text: '42' },
          { type: 'image', source },
        ],
      },
    ]);
  });

  it('has what the model thought, and what a person says while it works', async () => {
    const events = [...ADDS, steers('Faster!', 2), modelCall(2)];
    const rest = [message('assistant', 'Ok', { step: 2, reasoning: 'Fine.' }), ...completes()];
    expect((await messagesOf([...events, ...rest])).slice(2)).toEqual([
      { id: `${TASK_ID}-${MESSAGE_ID}`, role: 'user', content: 'Faster!' },
      { id: `${TASK_ID}-2-reasoning`, role: 'reasoning', content: 'Fine.' },
      { id: `${TASK_ID}-2`, role: 'assistant', content: 'Ok' },
    ]);
  });

  it('marks the result of a failed call', async () => {
    const events = [...ASKS, ...callEnds('1-1', 'add', 'No such number', { failed: true }), ...completes()];
    expect((await messagesOf(events))[1]).toMatchObject({ content: 'No such number', metadata: { failed: true } });
  });

  it('reports waits, progress, to-do lists and notices as custom events', async () => {
    const events = [
      modelCall(1),
      log('rate_limited', 'Limited', { step: 1, wait_ms: 3000 }),
      log('progress', 'half', { call_id: '1-1', progress: 1, total: 2 }),
      log('progress', 'todo', { todos: [{ id: 'a', title: 'Add', status: 'open' }] }),
      log('compaction', 'Shorter', { step: 1, messages: 3, up_to_step: 1 }),
      message('assistant', 'Ok', { step: 1 }),
      ...completes(),
    ];
    const custom = (await eventsOf(events)).filter(({ type }) => type === 'CUSTOM');
    expect(custom.map(({ name, value }) => [name, value.over ?? null])).toEqual([
      ['perdura.wait', false],
      ['perdura.progress', null],
      ['perdura.todos', null],
      ['perdura.notice', null],
      ['perdura.wait', true],
    ]);
    expect((await readOf(events)).errors).toEqual([]);
  });

  it('drops unfinished text that is sent again', async () => {
    const again = [modelCall(2), delta('Su'), log('attempt_reset', 'again', { step: 2 }), modelCall(2), delta('Sum')];
    const events = [...ADDS, ...again, message('assistant', 'Sum', { step: 2 }), ...completes()];
    const read = await readOf(events);
    expect(read.messages.map(({ id, content }) => [id, content])).toEqual([
      ['m0', 'Hi'],
      ['m1', 'Add.'],
      [`${TASK_ID}-1`, 'I add.'],
      [`${TASK_ID}-result-1-1`, '42'],
      [`${TASK_ID}-2`, 'Sum'],
    ]);
  });
});

describe('the end of a run', () => {
  const last = async (events: readonly NewEvent[], options?: Reading) => (await eventsOf(events, options)).at(-1);
  const used = { total_in: 13, total_out: 5, cost: 0.5, cache_read: 3, cache_write: 2, premium_requests: 0 } as never;
  const tokens = { inputTokens: 13, outputTokens: 5, totalTokens: 18, cachedInputTokens: 3, cacheWriteInputTokens: 2 };

  it('is a success with the usage of the run', async () => {
    expect(await last([...HELLO, usage(used), ...completes()])).toMatchObject({
      ...{ type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' },
      ...{ outcome: { type: 'success' }, usage: [tokens] },
    });
  });

  it('counts what an earlier run of the task used only there', async () => {
    const more = { ...(used as object), total_in: 30, total_out: 6 } as never;
    const events = [...WAITS, usage(used), approved('1-1'), ...callEnds('1-1', 'add', '42'), usage(more), ...completes()];
    const finished = await last(events, { resumed: true, live: 5 });
    expect(finished?.usage).toMatchObject([{ inputTokens: 17, outputTokens: 1 }]);
  });

  it('is an error with its code if the run failed', async () => {
    const failed = [...HELLO, status('failed', 1, { error: 'The model is down', error_code: 'unreachable' })];
    expect(await last(failed)).toMatchObject({ type: 'RUN_ERROR', message: 'The model is down', code: 'unreachable' });
    expect((await readOf(failed)).errors).toEqual(['The model is down']);
  });

  it('is cancelled if a person halted the run', async () => {
    expect(await last([modelCall(1), delta('Hel'), status('halted', 1)])).toMatchObject({ outcome: { type: 'cancelled' } });
  });

  it('is not reported if the record ends early', async () => {
    expect(await typesOf(HELLO)).not.toContain('RUN_FINISHED');
  });

  it('is an error if the installation was restored', async () => {
    expect(await last([...HELLO, log('stream_reset', 'Restored.')])).toMatchObject({ type: 'RUN_ERROR', code: 'restored' });
  });
});

describe('a run that waits', () => {
  it('is interrupted by an approval, after all its messages', async () => {
    const events = await eventsOf(WAITS);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    const { interrupts, messages } = await readOf(WAITS);
    expect(interrupts).toMatchObject([
      {
        ...{ id: `${idOf('1-1')}:approval`, reason: 'tool_call', toolCallId: idOf('1-1') },
        ...{ message: 'May the tool add be called?', responseSchema: { required: ['approved'] }, metadata: { tool: 'add' } },
      },
    ]);
    expect(messages.slice(0, 2)).toEqual([EARLIER, PROMPT]);
  });

  it('is interrupted by a question, whose form is the schema of the answer', async () => {
    const schema = { properties: { city: { type: 'string' as const } }, required: ['city'] };
    const question = {
      ...{ id: TASK_ID, message: 'Which city?', asked_by: { server: 'maps', host: null }, schema },
      ...{ asked_at: '2026-01-31T12:00:00.000Z', expires_at: '2999-01-31T12:10:00.000Z' },
    };
    const asked = log('question_asked', 'Which city?', { call_id: '1-1', name: 'add', question });
    const { interrupts } = await readOf([...ADDS.slice(0, 3), asked, status('waiting', 0)]);
    expect(interrupts).toMatchObject([
      {
        ...{ id: `${idOf('1-1')}:question:${TASK_ID}`, reason: 'input_required', message: 'Which city?' },
        ...{ responseSchema: { type: 'object', ...schema }, expiresAt: question.expires_at },
      },
    ]);
  });

  it('is interrupted by a call whose outcome nobody knows', async () => {
    const doubt = log('reconciliation_requested', 'What was the outcome?', { ...call('1-1', 'add'), restored: false });
    const { interrupts } = await readOf([...ADDS.slice(0, 3), doubt, status('waiting', 0)]);
    expect(interrupts).toMatchObject([{ id: `${idOf('1-1')}:reconciliation`, reason: 'perdura:reconciliation' }]);
  });

  it('finishes with the calls that the client executes, after the interrupts', async () => {
    const calls = [call('1-1', 'add'), call('1-2', 'locate')];
    const asked = [modelCall(1), message('assistant', '', { step: 1, tool_calls: calls })];
    const both = [...asked, ...asksApproval('1-1', 'add'), ...asksClient('1-2', 'locate')];
    const client_tools = ['locate'];
    expect((await eventsOf(both, { client_tools })).at(-1)?.outcome).toMatchObject({
      ...{ type: 'interrupt', interrupts: [{ toolCallId: idOf('1-1') }] },
    });
    const done = [...both, approved('1-1'), ...callEnds('1-1', 'add', '42')];
    expect((await eventsOf(done, { client_tools, live: 2 })).at(-1)?.outcome).toEqual({
      ...{ type: 'success', pendingToolCallIds: [idOf('1-2')] },
    });
  });
});

describe('a reader that comes again', () => {
  const SECOND = [modelCall(2), delta('Su'), delta('m'), message('assistant', 'Sum', { step: 2 }), ...completes()];
  const events = [...ADDS, ...SECOND];

  it('gets the messages so far, then what follows, at any time', async () => {
    const whole = await readOf(events);
    const times = events.map((_, live) => live);
    const seen = await Promise.all(
      times.map(async (live) => (await readRun(await framesOf(events, { live, resumed: true }))).messages),
    );
    expect(seen).toEqual(times.map(() => whole.messages));
  });

  it('sees the interrupts of a run that waits, with one snapshot', async () => {
    const types = await typesOf(WAITS, { resumed: true });
    expect(types.filter((type) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(1);
    expect((await readRun(await framesOf(WAITS, { resumed: true }))).interrupts).toHaveLength(1);
  });

  it('gets the step in progress from its beginning, and the steps before it as messages', async () => {
    const [, snapshot, ...rest] = await eventsOf(events, { live: 4, resumed: true });
    expect(snapshot?.messages.map(({ id }: AgUiMessage) => id)).toEqual(['m0', 'm1', `${TASK_ID}-1`, `${TASK_ID}-result-1-1`]);
    expect(rest.map(({ type, delta: text = null }) => [type, text])).toEqual([
      ['STEP_STARTED', null],
      ['TEXT_MESSAGE_START', null],
      ['TEXT_MESSAGE_CONTENT', 'Su'],
      ['TEXT_MESSAGE_CONTENT', 'm'],
      ['TEXT_MESSAGE_END', null],
      ['STEP_FINISHED', null],
      ['RUN_FINISHED', null],
    ]);
  });

  it('has nothing of unfinished text that is sent again', async () => {
    const begun = [modelCall(2), delta('Hm'), log('attempt_reset', 'again', { step: 2 })];
    const all = [...ADDS, ...begun, ...SECOND];
    const whole = await readOf(events);
    const times = all.map((_, live) => live);
    const read = await Promise.all(
      times.map(async (live) => (await readRun(await framesOf(all, { live, resumed: true }))).messages),
    );
    expect(read).toEqual(times.map(() => whole.messages));
  });

  it('gets the calls that wait for a person', async () => {
    const [, snapshot, ...rest] = await eventsOf(WAITS, { resumed: true });
    expect(snapshot?.messages).toEqual([EARLIER, PROMPT]);
    expect(rest.find(({ type }) => type === 'TOOL_CALL_START')).toMatchObject({ toolCallId: idOf('1-1'), toolCallName: 'add' });
  });

  it('gets everything since the run began to wait, if it has answered', async () => {
    const rest = [approved('1-1'), callStarts('1-1', 'add'), ...callEnds('1-1', 'add', '42')];
    const all = [...WAITS, ...rest, ...SECOND];
    const [, snapshot, ...seen] = await eventsOf([...WAITS, ...rest], { resumed: true, has_answered: true });
    expect(snapshot?.messages.map(({ id }: AgUiMessage) => id)).toEqual(['m0', 'm1', `${TASK_ID}-1`]);
    expect(seen.map(({ type }) => type)).toEqual(['STEP_STARTED', 'CUSTOM', 'TOOL_CALL_RESULT']);
    const whole = await readOf(all);
    const times = [...rest, ...SECOND].map((_, live) => live);
    const read = await Promise.all(
      times.map(async (live) => (await readRun(await framesOf(all, { live, resumed: true, has_answered: true }))).messages),
    );
    expect(read).toEqual(times.map(() => whole.messages));
  });

  it('continues after an answer without the calls that it has seen', async () => {
    const rest = [approved('1-1'), callStarts('1-1', 'add'), ...callEnds('1-1', 'add', '42'), ...completes()];
    const all = [...WAITS, ...rest];
    const answered = { resumed: true, has_answered: true, live: 5 };
    expect(await typesOf(all, answered)).not.toContain('TOOL_CALL_START');
    const { messages, interrupts } = await readRun(await framesOf(all, answered), [EARLIER, PROMPT]);
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: '42' });
    expect(interrupts).toEqual([]);
  });

  it('gets a number only with the last event of the protocol that one of the run makes', async () => {
    const frames = await framesOf(events);
    const ids = frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    const end = frames.findIndex(({ data }) => (data as { type: string }).type === 'TOOL_CALL_END');
    expect(frames.slice(end - 2, end + 1).map(({ id }) => id)).toEqual([undefined, undefined, FIRST + 1]);
  });
});
