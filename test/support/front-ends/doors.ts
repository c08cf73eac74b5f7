import { parseAgUiCommand } from '../../../src/api/compat/ag-ui/command.ts';
import { streamAgUi } from '../../../src/api/compat/ag-ui/stream.ts';
import { answerCalls } from '../../../src/api/compat/client-calls.ts';
import type { CallAnswer, FrontEndCommand } from '../../../src/api/compat/commands.ts';
import { readRunRecord } from '../../../src/api/compat/projection/read-record.ts';
import { parseUiCommand } from '../../../src/api/compat/ui/command.ts';
import { streamUiMessage, UI_STREAM_HEADERS } from '../../../src/api/compat/ui/stream.ts';
import { encodeFrame, type SseFrame } from '../../../src/api/http/sse.ts';
import { AgUiRunInput, UiChatRequest } from '../../../src/contracts/front-ends.ts';
import { createStreamBudget } from '../../../src/events/waiting.ts';
import type { Caller } from '../../../src/identity/caller.ts';
import type { TestInstallation } from '../installation.ts';
import { toFileUrl } from './ui-reader.ts';

interface DoorOptions {
  /** Starts a run with a text and returns its task. */
  start(text: string): Promise<string>;
  client_tools?: string[];
}

/** What a page of each protocol is connected to: the projections, on the real runs of an installation. */
export function openDoors(here: TestInstallation, { start, client_tools = [] }: DoorOptions) {
  const { store, bus } = here.core;
  const following = { bus, log: store.events, waiting: createStreamBudget() };
  let current = '';

  async function recordOf(task_id: string, signal: AbortSignal) {
    const { workflow_id } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
    return readRunRecord(following, { workflow_id, task_id }, signal);
  }

  async function answer(task_id: string, given: CallAnswer): Promise<void> {
    if (given.kind === 'approval') {
      const decision = given.approved ? 'approve' : 'deny';
      await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/${given.call_id}`, { decision }));
    }
    if (given.kind !== 'result') return;
    const { workflow_id } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
    const { subject: key, login } = here.people.alice;
    const output = typeof given.result === 'string' ? given.result : JSON.stringify(given.result);
    const outputs = [{ call_id: given.call_id, output, failed: given.failed }];
    await answerCalls(
      { store, engine: here.driver.engine },
      { task_id, workflow_id },
      { outputs, caller: { key, login } as Caller },
    );
  }

  /** Carries out a command; returns the number of the last event that the page has. */
  async function carryOut(command: FrontEndCommand): Promise<number> {
    if (command.kind === 'message') current = await start(command.message.text);
    if (command.kind !== 'decide') return 0;
    for (const given of command.answers) await answer(command.task_id, given);
    return command.after ?? 0;
  }

  return {
    /** Answers a page of the AI SDK. */
    ui: async (_: unknown, { method, body }: RequestInit = {}): Promise<Response> => {
      const after = method === 'POST' ? await carryOut(parseUiCommand(UiChatRequest.parse(JSON.parse(body as string)))) : 0;
      const record = await recordOf(current, new AbortController().signal);
      return toResponse(streamUiMessage(record, { task_id: current, toFileUrl, after, client_tools }));
    },
    /** Answers a page of AG-UI. */
    agUi: async (_: unknown, { body }: RequestInit = {}): Promise<Response> => {
      const input = AgUiRunInput.parse(JSON.parse(body as string));
      const command = parseAgUiCommand(input);
      await carryOut(command);
      const record = await recordOf(current, new AbortController().signal);
      const place = { task_id: current, thread_id: input.threadId, run_id: input.runId, toFileUrl };
      const earlier = input.messages.filter(({ role }) => role === 'user') as { id: string; role: string }[];
      return toResponse(streamAgUi(record, { ...place, earlier, resumed: command.kind === 'decide', client_tools }));
    },
    getTask: () => current,
  };
}

function toResponse(frames: AsyncIterable<SseFrame>): Response {
  async function* encode() {
    for await (const frame of frames) yield encodeFrame(frame);
  }
  return new Response(ReadableStream.from(encode()) as never, {
    headers: { 'content-type': 'text/event-stream', ...UI_STREAM_HEADERS },
  });
}
