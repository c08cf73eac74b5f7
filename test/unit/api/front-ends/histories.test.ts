import { MessageSchema } from '@ag-ui/core/schemas';
import { validateUIMessages } from 'ai';
import { describe, expect, it } from 'vitest';
import { toAgUiMessages, toUserMessage as toAgUiUserMessage, toContent } from '../../../../src/api/compat/ag-ui/messages.ts';
import { startRun, streamAgUi } from '../../../../src/api/compat/ag-ui/stream.ts';
import { type RecordedCall, readTranscript } from '../../../../src/api/compat/projection/read-transcript.ts';
import { toAssistantMessage, toUserMessage } from '../../../../src/api/compat/ui/messages.ts';
import { streamUiMessage } from '../../../../src/api/compat/ui/stream.ts';
import { DENIAL, NOT_CALLED, type TranscriptMessage } from '../../../../src/domain/transcript.ts';
import { readRun } from '../../../support/front-ends/ag-ui-reader.ts';
import {
  approved,
  asksApproval,
  asksClient,
  call,
  callEnds,
  callStarts,
  completes,
  denied,
  log,
  MESSAGE_ID,
  message,
  modelCall,
  numbered,
  recordOf,
  steers,
  TASK_ID,
} from '../../../support/front-ends/run-record.ts';
import { listFrames, readMessage, toFileUrl } from '../../../support/front-ends/ui-reader.ts';

const PLACE = { task_id: TASK_ID, toFileUrl };
const FILE = { id: TASK_ID, name: 'plot.png', media_type: 'image/png', size: 7, sha256: 'ab' };
const CLIENT_TOOLS = ['locate'];

const row = (step: number, position: number, values: Partial<TranscriptMessage>) =>
  ({ step, position, tool_calls: null, call_id: null, extra: null, content: '', ...values }) as TranscriptMessage;
const reply = (step: number, content: string, tool_calls: TranscriptMessage['tool_calls'] = null, extra: unknown = null) =>
  row(step, 0, { role: 'assistant', kind: 'reply', content, tool_calls, extra });
const ledger = (call_id: string, name: string, values: Partial<RecordedCall> = {}): RecordedCall => ({
  ...{ call_id, name, approval: false, status: 'done', failed: false, duration_ms: 31 },
  ...values,
});

const ROUND = [call('1-1', 'add', '{"a":17}'), call('1-2', 'locate'), call('1-3', 'draw'), call('1-4', 'drop')];

/** A run with an approved call, a call of the client, a failed call with a file, a denied call, a steer and thinking. */
const MESSAGES = [
  row(0, -1, { role: 'system', kind: 'context', content: 'Knowledge' }),
  row(0, 0, { role: 'user', kind: 'prompt', content: 'Add.' }),
  reply(1, 'I try.', ROUND),
  row(1, 1, { role: 'tool', kind: 'result', content: '42', call_id: '1-1' }),
  row(1, 2, { role: 'tool', kind: 'result', content: '{"city":"Rome"}', call_id: '1-2' }),
  row(1, 3, { role: 'tool', kind: 'result', content: 'No ink', call_id: '1-3', extra: { files: [FILE] } }),
  row(1, 4, { role: 'tool', kind: 'denial', content: 'Denied by a person: no', call_id: '1-4' }),
  row(1, 100_000, { role: 'user', kind: 'reminder', content: 'Reminder: Add.' }),
  row(1, 120_000, { role: 'user', kind: 'steer', content: 'Faster!', extra: { message_id: MESSAGE_ID } }),
  reply(2, 'Done.', null, { reasoning: 'So it is.' }),
];
const CALLS = [
  ledger('1-1', 'add', { approval: true }),
  ledger('1-2', 'locate', { approval: true }),
  ledger('1-3', 'draw', { failed: true }),
  ledger('1-4', 'drop', { approval: true, status: 'denied', failed: true }),
];
const EVENTS = [
  modelCall(1),
  message('assistant', 'I try.', { step: 1, tool_calls: ROUND }),
  ...asksApproval('1-1', 'add', '{"a":17}'),
  ...asksClient('1-2', 'locate'),
  ...asksApproval('1-4', 'drop'),
  approved('1-1'),
  denied('1-4', 'no'),
  callStarts('1-1', 'add', '{"a":17}'),
  ...callEnds('1-1', 'add', '42'),
  ...callEnds('1-2', 'locate', '{"city":"Rome"}'),
  ...callEnds('1-3', 'draw', 'No ink', { failed: true, files: [FILE] }),
  log('tool_denied', 'Denied by a person: no', { call_id: '1-4', name: 'drop' }),
  message('tool', 'Denied by a person: no', { call_id: '1-4', name: 'drop' }),
  steers('Faster!', 2),
  modelCall(2),
  message('assistant', 'Done.', { step: 2, reasoning: 'So it is.' }),
  ...completes(),
];

const parts = readTranscript({ messages: MESSAGES, calls: CALLS, client_tools: CLIENT_TOOLS });
const stream = { ...PLACE, client_tools: CLIENT_TOOLS };

describe('the transcript of a run', () => {
  it('is the message that a page of the AI SDK has after the stream', async () => {
    const streamed = await readMessage(await listFrames(streamUiMessage(recordOf(numbered(EVENTS)), { ...stream, after: 0 })));
    const shown = toAssistantMessage(parts, PLACE);
    expect(shown.parts).toEqual(streamed.message?.parts);
    expect([shown.id, shown.role, shown.metadata]).toEqual([TASK_ID, 'assistant', { task_id: TASK_ID }]);
    expect(await validateUIMessages({ messages: [shown] })).toHaveLength(1);
  });

  it('has the messages that a page of AG-UI has after the stream', async () => {
    const run = { ...stream, thread_id: 't', run_id: 'r', earlier: [], resumed: false };
    const frames = await listFrames(streamAgUi(recordOf(numbered(EVENTS)), run));
    const { messages } = await readRun([startRun(run), ...frames]);
    const shown = toAgUiMessages(parts, PLACE);
    expect(shown).toEqual(messages);
    expect(shown.map((one) => MessageSchema.safeParse(one).success)).toEqual(shown.map(() => true));
  });

  it('of a run that waits for an approval asks for it, and names the event to continue from', async () => {
    const waiting = readTranscript({
      ...{ messages: [reply(1, '', [call('1-1', 'add')])], client_tools: [] },
      calls: [ledger('1-1', 'add', { approval: true, status: 'waiting_approval', failed: null, duration_ms: null })],
    });
    const shown = toAssistantMessage(waiting, { ...PLACE, metadata: { event: 19, status: 'waiting' } });
    expect(shown.parts[1]).toMatchObject({ state: 'approval-requested', approval: { id: `call_${TASK_ID}_1-1` } });
    expect(shown.metadata).toEqual({ event: 19, status: 'waiting', task_id: TASK_ID });
    expect(await validateUIMessages({ messages: [shown as never] })).toHaveLength(1);
  });

  it.each([
    ['the turn limit denied', DENIAL, true, { state: 'output-error', errorText: DENIAL }],
    ['the run left open', NOT_CALLED, false, { state: 'output-error', errorText: NOT_CALLED }],
    ['nobody approved', NOT_CALLED, true, { state: 'output-denied', approval: { approved: false, reason: NOT_CALLED } }],
    ['a person denied without a reason', 'Denied by a person.', true, { approval: { approved: false } }],
  ])('shows a call that %s', async (_, content, approval, part) => {
    const denied = readTranscript({
      messages: [reply(1, '', [call('1-1', 'add')]), row(1, 1, { role: 'tool', kind: 'denial', content, call_id: '1-1' })],
      ...{ calls: [ledger('1-1', 'add', { approval, status: 'denied', failed: true, duration_ms: null })], client_tools: [] },
    });
    const shown = toAssistantMessage(denied, PLACE);
    expect(shown.parts[1]).toMatchObject(part);
    expect(await validateUIMessages({ messages: [shown as never] })).toHaveLength(1);
  });
});

describe('what a person wrote', () => {
  const prompt = { id: 'm1', text: 'Look', files: [FILE] };

  it('is a message with its files for the AI SDK', async () => {
    const shown = toUserMessage(prompt, PLACE);
    expect(shown).toEqual({
      ...{ id: 'm1', role: 'user' },
      parts: [
        { type: 'file', mediaType: 'image/png', filename: 'plot.png', url: toFileUrl(FILE) },
        { type: 'text', text: 'Look' },
      ],
    });
    expect(await validateUIMessages({ messages: [shown as never] })).toHaveLength(1);
    expect(toUserMessage({ ...prompt, text: '' }, PLACE).parts).toHaveLength(1);
  });

  it('is a message with its files for AG-UI, and a text if it has none', () => {
    const shown = toAgUiUserMessage(prompt, PLACE);
    expect(MessageSchema.safeParse(shown).success).toBe(true);
    expect(shown.content).toMatchObject([{ type: 'text', text: 'Look' }, { type: 'image' }]);
    expect(toAgUiUserMessage({ ...prompt, files: [] }, PLACE).content).toBe('Look');
    const types = ['audio/wav', 'video/mp4', 'application/pdf'].map((media_type) => ({ id: TASK_ID, media_type }));
    expect(toContent('', types, PLACE)).toMatchObject([{}, { type: 'audio' }, { type: 'video' }, { type: 'document' }]);
  });
});
