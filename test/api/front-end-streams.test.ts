import { buildResumeArray, HttpAgent } from '@ag-ui/client';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
  validateUIMessages,
} from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toAgUiMessages } from '../../src/api/compat/ag-ui/messages.ts';
import { readTranscript } from '../../src/api/compat/projection/read-transcript.ts';
import { toAssistantMessage } from '../../src/api/compat/ui/messages.ts';
import type { TaskStep } from '../../src/contracts/tasks.ts';
import { openDoors } from '../support/front-ends/doors.ts';
import { UiPage } from '../support/front-ends/ui-page.ts';
import { toFileUrl } from '../support/front-ends/ui-reader.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const parameters = { type: 'object', properties: { a: { type: 'integer' } } };
const tools = [{ type: 'function', name: 'locate', description: 'Locates', parameters }];

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

/** A workflow with a Python tool, which waits for an approval. */
async function guarded() {
  const workflow_id = await here.workflow({ tools: [ADD] });
  const { agent_id, name } = await toolOf(here, workflow_id);
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  return { workflow_id, call: { name, args: { a: 17, b: 25 } } };
}

/** The doors of a workflow whose page executes `locate`. */
async function withClientTool() {
  const model = await here.workflow();
  const start = async (input: string) => {
    const { id } = await here.alice.ok(here.alice.post('/v1/responses', { model, input, tools, background: true }));
    return (id as string).replace('resp_', '');
  };
  return openDoors(here, { start, client_tools: ['locate'] });
}

/** A body that breaks off after some frames, as that of a lost connection. */
function breakAfter(body: ReadableStream<Uint8Array>, frames: number) {
  let count = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(frame, controller) {
        count += 1;
        if (count <= frames) controller.enqueue(frame);
        else controller.error(new TypeError('network error'));
      },
    }),
  );
}

const textsOf = (message: UIMessage | undefined) =>
  message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) ?? [];

/** The transcript of a run as it is on record. */
async function transcriptOf(task_id: string, client_tools: string[] = []) {
  const messages = (await here.core.store.runs.open(task_id, 99))!.messages;
  const steps = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as unknown as TaskStep[];
  const calls = steps.flatMap(({ tool_calls }) => tool_calls);
  return readTranscript({ messages, calls, client_tools });
}

describe('a page with the AI SDK', () => {
  it('approves a call in its chat, and has the same message after it is loaded again', async () => {
    const { workflow_id, call } = await guarded();
    here.model.script(asks({ ...call, text: 'I add.' }), says('It is 42.'));
    const doors = openDoors(here, { start: (text) => here.prompt(workflow_id, text) });
    const transport = new DefaultChatTransport({ fetch: doors.ui });
    const page = new UiPage({ transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await page.sendMessage({ text: 'What is 17 + 25?' });
    expect([page.status, page.lastMessage?.parts.at(-1)]).toMatchObject([
      'ready',
      { state: 'approval-requested', input: call.args },
    ]);
    const { approval } = page.lastMessage!.parts.at(-1) as { approval: { id: string } };
    await page.addToolApprovalResponse({ id: approval.id, approved: true });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['I add.', 'It is 42.']);
    await expect.poll(() => page.status).toBe('ready');
    expect(page.messages).toHaveLength(2);
    expect(page.lastMessage?.parts[2]).toMatchObject({ state: 'output-available', output: { result: 42 } });
    await validateUIMessages({ messages: page.messages });

    const again = new UiPage({ transport, messages: page.messages.slice(0, 1) });
    await again.resumeStream();
    expect(again.messages).toEqual(page.messages);
    const shown = toAssistantMessage(await transcriptOf(doors.getTask()), { task_id: doors.getTask(), toFileUrl });
    expect(shown.parts).toEqual(JSON.parse(JSON.stringify(page.lastMessage?.parts)));
  });

  it('executes a call itself, and sends its result', async () => {
    const doors = await withClientTool();
    here.model.script(asks({ name: 'locate', args: { a: 7 } }), says('You are in Rome.'));
    const page: UiPage = new UiPage({
      transport: new DefaultChatTransport({ fetch: doors.ui }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId, input } }) =>
        void page.addToolOutput({ tool: 'locate', toolCallId, output: { city: 'Rome', input } }),
    });
    await page.sendMessage({ text: 'Where am I?' });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['You are in Rome.']);
    const output = { city: 'Rome', input: { a: 7 } };
    expect(page.lastMessage?.parts[1]).toMatchObject({ type: 'tool-locate', state: 'output-available', output });
    expect(JSON.parse(here.model.requests.at(-1)!.messages.at(-1)!.content!)).toEqual(output);
  });

  it('reports that it could not execute a call', async () => {
    const doors = await withClientTool();
    here.model.script(asks({ name: 'locate', args: { a: 7 } }), says('Then tell me.'));
    const page: UiPage = new UiPage({
      transport: new DefaultChatTransport({ fetch: doors.ui }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId } }) =>
        void page.addToolOutput({ tool: 'locate', toolCallId, state: 'output-error', errorText: 'No signal' }),
    });
    await page.sendMessage({ text: 'Where am I?' });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['Then tell me.']);
    expect(page.lastMessage?.parts[1]).toMatchObject({ state: 'output-error', errorText: 'No signal' });
    expect(here.model.requests.at(-1)!.messages.at(-1)!.content).toContain('No signal');
    const shown = toAssistantMessage(await transcriptOf(doors.getTask(), ['locate']), { task_id: doors.getTask(), toFileUrl });
    expect(shown.parts).toEqual(JSON.parse(JSON.stringify(page.lastMessage?.parts)));
  });

  it('shows a text once that the model began twice, while it is connected', async () => {
    const workflow_id = await here.workflow();
    here.model.script(breaksOff('Half an'), says('A whole answer.'));
    const doors = openDoors(here, { start: (text) => here.prompt(workflow_id, text) });
    const page = new UiPage({ transport: new DefaultChatTransport({ fetch: doors.ui }) });
    await page.sendMessage({ text: 'Answer.' });
    expect(textsOf(page.lastMessage)).toEqual(['A whole answer.']);
    expect(page.status).toBe('ready');
  });
});

describe('a page of the AI SDK whose connection breaks', () => {
  it('has the whole answer once after it has connected again', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('One two three four five six.'));
    const doors = openDoors(here, { start: (text) => here.prompt(workflow_id, text) });
    let connections = 0;
    const fetch = async (...asked: Parameters<typeof doors.ui>) => {
      connections += 1;
      const answer = await doors.ui(...asked);
      return connections === 1 ? new Response(breakAfter(answer.body!, 4), answer) : answer;
    };
    const page = new UiPage({ transport: new DefaultChatTransport({ fetch }) });
    await page.sendMessage({ text: 'Count.' });
    expect([page.status, page.lastMessage?.id]).toEqual(['error', doors.getTask()]);
    await page.resumeStream();
    expect([page.status, textsOf(page.lastMessage)]).toEqual(['ready', ['One two three four five six.']]);
    expect(page.messages).toHaveLength(2);
  });
});

describe('a page with AG-UI', () => {
  it('answers an interrupt, and has the messages of the record', async () => {
    const { workflow_id, call } = await guarded();
    here.model.script(asks({ ...call, text: 'I add.' }), says('It is 42.'));
    const doors = openDoors(here, { start: (text) => here.prompt(workflow_id, text) });
    const page = new HttpAgent({ url: 'http://perdura.example', fetch: doors.agUi, threadId: 'thread-1' });
    page.addMessage({ id: 'm1', role: 'user', content: 'What is 17 + 25?' });
    await page.runAgent();
    const [interrupt] = page.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: expect.stringContaining(doors.getTask()) });
    const responses = { [interrupt!.id]: { status: 'resolved' as const, payload: { approved: true } } };
    await page.runAgent({ resume: buildResumeArray(page.pendingInterrupts, responses) });
    expect(page.pendingInterrupts).toEqual([]);
    const place = { task_id: doors.getTask(), toFileUrl };
    expect(page.messages.slice(1)).toEqual(toAgUiMessages(await transcriptOf(doors.getTask()), place));
    expect(page.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'What is 17 + 25?'],
      ['assistant', 'I add.'],
      ['tool', '{"result": 42}'],
      ['assistant', 'It is 42.'],
    ]);
  });

  it('executes a call itself, and sends its result', async () => {
    const doors = await withClientTool();
    here.model.script(asks({ name: 'locate', args: { a: 7 } }), says('You are in Rome.'));
    const page = new HttpAgent({ url: 'http://perdura.example', fetch: doors.agUi, threadId: 'thread-1' });
    page.addMessage({ id: 'm1', role: 'user', content: 'Where am I?' });
    const pending: string[] = [];
    await page.runAgent(
      {},
      { onRunFinishedEvent: ({ event }) => void pending.push(...((event.outcome as any).pendingToolCallIds as string[])) },
    );
    expect(pending).toHaveLength(1);
    page.addMessage({ id: 'r1', role: 'tool', toolCallId: pending[0]!, content: 'Rome' });
    await page.runAgent();
    expect(page.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'You are in Rome.' });
  });
});
