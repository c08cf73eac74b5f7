import { describe, expect, it } from 'vitest';
import { listUnusedFields, parseAgUiCommand } from '../../../../src/api/compat/ag-ui/command.ts';
import { parseUiCommand } from '../../../../src/api/compat/ui/command.ts';
import { AgUiRunInput, UiChatRequest } from '../../../../src/contracts/front-ends.ts';
import { AppError } from '../../../../src/domain/errors.ts';
import { OTHER_TASK_ID, TASK_ID } from '../../../support/front-ends/run-record.ts';

const FILE_URL = `https://perdura.example/api/attachments/${OTHER_TASK_ID}/content`;
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const idOf = (call_id: string, task_id = TASK_ID) => `call_${task_id}_${call_id}`;

const refusalOf = (parse: () => unknown) => {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.kind, error.errors?.[0]?.path, error.message];
  }
};

describe('a request of useChat', () => {
  const text = (said: string) => ({ type: 'text', text: said });
  const user = (...parts: object[]) => ({ id: 'm1', role: 'user', parts });
  const answer = (parts: object[], metadata: unknown = { event: 19 }) => ({ id: TASK_ID, role: 'assistant', parts, metadata });
  const parse = (body: object) => parseUiCommand(UiChatRequest.parse(body));
  const refusal = (body: object) => refusalOf(() => parse(body));

  it('sends a message, of which only the last one counts', () => {
    const messages = [answer([text('Before')]), user(text('Hello'), text('you'))];
    const message = { id: 'm1', text: 'Hello\n\nyou', files: [] };
    expect(parse({ id: 'chat-1', messages, trigger: 'submit-message' })).toEqual({
      ...{ kind: 'message', message, replaces: null, answer_before: TASK_ID },
    });
  });

  it('sends files within the request, and files that were uploaded before', () => {
    const files = [
      { type: 'file', url: PIXEL, mediaType: 'image/png', filename: 'dot.png' },
      { type: 'file', url: FILE_URL, mediaType: 'image/png' },
      { type: 'file', url: PIXEL },
    ];
    expect(parse({ messages: [user(...files)] })).toMatchObject({
      message: {
        text: '',
        files: [{ name: 'dot.png', media_type: 'image/png', data: PIXEL }, { id: OTHER_TASK_ID }, { name: 'file', data: PIXEL }],
      },
    });
  });

  it('sends the tools that the page executes', () => {
    const tools = [{ name: 'locate', description: 'Locates' }];
    expect(parse({ messages: [user(text('Hello'))], tools })).toMatchObject({
      client_tools: [{ name: 'locate', description: 'Locates', effect: 'read' }],
    });
  });

  it('edits a message', () => {
    expect(parse({ messages: [user(text('Better'))], messageId: 'm1' })).toMatchObject({ kind: 'message', replaces: 'm1' });
  });

  it('asks for another answer', () => {
    const regenerate = { messages: [user(text('Hello'))], trigger: 'regenerate-message' };
    expect(parse({ ...regenerate, messageId: TASK_ID })).toEqual({
      kind: 'regenerate',
      message_id: TASK_ID,
      answer_before: null,
    });
    expect(parse({ ...regenerate, messages: [] })).toEqual({ kind: 'regenerate', message_id: null, answer_before: null });
    expect(parse({ ...regenerate, messages: [answer([text('Before')]), ...regenerate.messages] })).toMatchObject({
      answer_before: TASK_ID,
    });
  });

  const tool = (call_id: string, values: object) => ({ type: 'tool-locate', toolCallId: idOf(call_id), ...values });
  const approval = (call_id: string, approved: boolean, reason?: string) =>
    tool(call_id, { state: 'approval-responded', approval: { id: idOf(call_id), approved, ...(reason ? { reason } : {}) } });

  it('answers approvals, and sends the results of the last step that the page has made', () => {
    const parts = [
      { type: 'step-start' },
      tool('1-1', { state: 'output-available', output: 'old' }),
      approval('1-2', true),
      { type: 'step-start' },
      tool('2-1', { state: 'output-available', output: { city: 'Rome' } }),
      tool('2-2', { state: 'output-error', errorText: 'No signal' }),
      tool('2-3', { state: 'output-available', output: 'of a worker', providerExecuted: true }),
      approval('2-4', false, 'too late'),
    ];
    expect(parse({ messages: [user(text('Hello')), answer(parts)], messageId: TASK_ID })).toEqual({
      ...{ kind: 'decide', task_id: TASK_ID, after: 19 },
      answers: [
        { kind: 'approval', call_id: '1-2', approved: true, message: undefined },
        { kind: 'result', call_id: '2-1', result: { city: 'Rome' }, failed: false },
        { kind: 'result', call_id: '2-2', result: 'No signal', failed: true },
        { kind: 'approval', call_id: '2-4', approved: false, message: 'too late' },
      ],
    });
  });

  it('answers in a message that is not the last one, if it names it', () => {
    const messages = [answer([approval('1-1', true)]), user(text('And?'))];
    expect(parse({ messages, messageId: TASK_ID })).toMatchObject({ kind: 'decide', answers: [{ call_id: '1-1' }] });
  });

  it.each<[string, object, string, string]>([
    ['without messages', { messages: [] }, 'messages', 'Send at least the last message'],
    ['that names an unknown message', { messages: [user(text('a'))], messageId: 'm9' }, 'messageId', 'has the id m9'],
    ['with instructions', { messages: [{ ...user(text('a')), role: 'system' }] }, 'messages.0', 'belong to the agent'],
    ['without content', { messages: [user(text(' '))] }, 'messages.0', 'neither a text nor a file'],
    ['with another part', { messages: [user(text('a'), { type: 'data-x' })] }, 'messages.0.parts.1', 'the type data-x'],
    [
      'with a file elsewhere',
      { messages: [user({ type: 'file', url: 'https://x.example/a.png' })] },
      'messages.0.parts.0.url',
      'POST /api/attachments',
    ],
    ['that answers nothing', { messages: [answer([text('Hi')])] }, 'messages.0', 'answers nothing'],
    ['without metadata', { messages: [answer([approval('1-1', true)], null)] }, 'messages.0.metadata', 'with its metadata'],
    [
      'about a foreign call',
      { messages: [answer([{ ...approval('1-1', true), toolCallId: 'call_7' }])] },
      'messages.0.parts.0',
      'No call with id call_7',
    ],
    [
      'about two runs',
      { messages: [answer([approval('1-1', true), { ...approval('1-2', true), toolCallId: idOf('1-2', OTHER_TASK_ID) }])] },
      'messages.0',
      'different runs',
    ],
  ])('%s is refused with a reason', (_, body, path, reason) => {
    expect(refusal(body)).toEqual(['invalid', path, expect.stringContaining(reason)]);
  });
});

describe('a request of an AG-UI client', () => {
  const user = (content: unknown) => ({ id: 'm1', role: 'user', content });
  const parse = (input: object) => parseAgUiCommand(AgUiRunInput.parse({ threadId: 't', runId: 'r', messages: [], ...input }));
  const refusal = (input: object) => refusalOf(() => parse(input));
  const resume = (suffix: string, payload?: object, status = 'resolved') => [
    { interruptId: `${idOf('1-1')}:${suffix}`, status, ...(payload ? { payload } : {}) },
  ];

  it('sends a message with the tools and the context of its page', () => {
    const parameters = { type: 'object', properties: {} };
    const tools = [{ name: 'locate', description: 'Locates', parameters }];
    const context = [{ description: 'Page', value: 'Cart' }];
    expect(parse({ messages: [{ ...user('Hi'), role: 'assistant' }, user('Hello')], tools, context })).toEqual({
      ...{ kind: 'message', replaces: null, answer_before: null, context },
      message: { id: 'm1', text: 'Hello', files: [] },
      client_tools: [{ name: 'locate', description: 'Locates', parameters, effect: 'read' }],
    });
  });

  it('sends files within the request, and files that were uploaded before', () => {
    const source = { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' };
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image', source },
      { type: 'document', source: { type: 'url', value: FILE_URL } },
    ];
    expect(parse({ messages: [user(content)] })).toMatchObject({
      message: { text: 'Look', files: [{ name: 'file', media_type: 'image/png', data: PIXEL }, { id: OTHER_TASK_ID }] },
    });
  });

  it.each<[string, object[], object]>([
    ['an approval', resume('approval', { approved: true }), { kind: 'approval', approved: true }],
    ['a denial', resume('approval', { approved: false, message: 'no' }), { kind: 'approval', approved: false, message: 'no' }],
    ['an approval that is cancelled', resume('approval', undefined, 'cancelled'), { kind: 'approval', approved: false }],
    [
      'a question',
      resume(`question:${OTHER_TASK_ID}`, { city: 'Rome' }),
      { kind: 'question', question_id: OTHER_TASK_ID, action: 'accept', content: { city: 'Rome' } },
    ],
    [
      'a question that is cancelled',
      resume(`question:${OTHER_TASK_ID}`, undefined, 'cancelled'),
      { kind: 'question', question_id: OTHER_TASK_ID, action: 'cancel' },
    ],
    [
      'a call in doubt',
      resume('reconciliation', { decision: 'done', result: 7 }),
      { kind: 'reconciliation', decision: 'done', result: 7 },
    ],
  ])('answers %s', (_, entries, answer) => {
    const answers = [{ call_id: '1-1', ...answer }];
    expect(parse({ resume: entries })).toEqual({ kind: 'decide', task_id: TASK_ID, answers, after: null });
  });

  it('sends the results of the calls that the page has made, with the answers to interrupts', () => {
    const result = (call_id: string, more: object = {}) => ({
      ...{ id: call_id, role: 'tool', toolCallId: idOf(call_id), content: '42' },
      ...more,
    });
    const messages = [result('1-0'), user('Hello'), result('1-2'), result('1-3', { error: 'No signal' })];
    expect(parse({ messages, resume: resume('approval', { approved: true }) })).toMatchObject({
      answers: [
        { kind: 'approval', call_id: '1-1' },
        { kind: 'result', call_id: '1-2', result: '42', failed: false },
        { kind: 'result', call_id: '1-3', result: 'No signal', failed: true },
      ],
    });
  });

  it('names the fields that are not used, if they have content', () => {
    const input = AgUiRunInput.parse({ threadId: 't', runId: 'r', messages: [], state: { a: 1 }, forwardedProps: {} });
    expect(listUnusedFields(input)).toEqual(['state']);
    expect(listUnusedFields({ ...input, state: null, forwardedProps: 'x' })).toEqual(['forwardedProps']);
  });

  it.each<[string, object, string, string]>([
    ['without a message', { messages: [] }, 'messages', 'has to be one of the user'],
    ['with odd content', { messages: [user(7)] }, 'messages.0', 'a text, or a list of parts'],
    ['without content', { messages: [user('')] }, 'messages.0', 'neither a text nor a file'],
    ['with another part', { messages: [user([{ type: 'x' }])] }, 'messages.0.content.0', 'the type x'],
    [
      'with a file at a provider',
      { messages: [user([{ type: 'image', source: { type: 'file', value: 'f-7' } }])] },
      'messages.0.content.0.source',
      'POST /api/attachments',
    ],
    ['about a foreign interrupt', { resume: [{ interruptId: 'i7', status: 'resolved' }] }, 'resume.0.interruptId', 'id i7'],
    ['about nothing', { resume: resume('weather') }, 'resume.0.interruptId', 'No interrupt'],
    ['about a question without an id', { resume: resume('question') }, 'resume.0.interruptId', 'No interrupt'],
    ['that does not decide', { resume: resume('approval', {}) }, 'resume.0.payload', 'true or false'],
    ['that edits arguments', { resume: resume('approval', { approved: true, editedArgs: {} }) }, 'resume.0.payload', 'deny it'],
    ['that leaves a call in doubt', { resume: resume('reconciliation', {}) }, 'resume.0.payload', 'retry, done or fail'],
    [
      'that abandons a call in doubt',
      { resume: resume('reconciliation', { decision: 'done' }, 'cancelled') },
      'resume.0.payload',
      'retry, done or fail',
    ],
  ])('%s is refused with a reason', (_, input, path, reason) => {
    expect(refusal(input)).toEqual(['invalid', path, expect.stringContaining(reason)]);
  });
});
