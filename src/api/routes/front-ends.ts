import { frontEnds } from '../../contracts/front-ends.ts';
import type { Thread } from '../../contracts/threads.ts';
import { listClientTools } from '../../domain/definition.ts';
import { AppError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Caller } from '../../identity/caller.ts';
import { getOwnThread } from '../checks/owned.ts';
import { answerAgUi, omitRun } from '../compat/ag-ui/answer.ts';
import { answersRun, listUnusedFields, parseAgUiCommand } from '../compat/ag-ui/command.ts';
import { type AgUiStream, refuseRun, startRun, streamAgUi } from '../compat/ag-ui/stream.ts';
import type { FrontEndCommand } from '../compat/commands.ts';
import { listAgUiHistory, listUiHistory, loadHistory } from '../compat/front-end-history.ts';
import { type AnsweringTurn, createFrontEndTurns } from '../compat/front-end-turns.ts';
import { type RunRecord, readRunRecord } from '../compat/projection/read-record.ts';
import { type CompatRun, type CompatServices, getDefinition } from '../compat/runs.ts';
import { answerUi } from '../compat/ui/answer.ts';
import { parseUiCommand } from '../compat/ui/command.ts';
import { streamUiMessage } from '../compat/ui/stream.ts';
import { type Api, mount } from '../http/mount.ts';
import type { SseFrame } from '../http/sse.ts';

/** The address of a file, which a page gets with its access token. */
const toFileUrl = ({ id }: { id: string }) => `/api/attachments/${id}/content`;

/** How long the answer of a turn that has ended is streamed again: a page whose connection broke may have half of it. */
const REPLAYED_MS = 5 * 60_000;

interface Sent {
  params: { id: string };
  once<T>(work: (reserved_id?: string, claim?: number) => Promise<T>): Promise<{ value: T }>;
}

export function frontEndRoutes(api: Api, services: CompatServices): void {
  const { store, following } = services;
  const getOwn = getOwnThread(store);
  const turns = createFrontEndTurns(services);

  const carryOut = async (thread: Thread, command: FrontEndCommand, { once }: Sent, caller: Caller): Promise<AnsweringTurn> =>
    (await once((task_id, claim) => turns.carryOut(command, { thread, caller, task_id, claim }))).value;

  /** Returns what both projections need to know of a run. */
  async function loadPlace(run: CompatRun) {
    const definition = await getDefinition(services, run);
    const is_message = (await store.messages.find(run.task_id)) !== null;
    const { max_turns } = definition.settings;
    return { task_id: run.task_id, toFileUrl, client_tools: listClientTools(definition), max_turns, is_message };
  }

  /** Returns a function that opens runs for the stream that answers a request. */
  const openRuns = (turn: AnsweringTurn, command: FrontEndCommand, signal: AbortSignal) => async (task_id: string) => {
    const run = { task_id, workflow_id: turn.workflow_id };
    const { message_id } = turn;
    const sent = message_id && command.kind === 'message' ? { message_id, sent_as: command.message.id } : undefined;
    return { record: readRunRecord(following, run, signal), place: { ...(await loadPlace(run)), sent } };
  };

  /** Returns the last turn of the branch in use; null: there is none. */
  const findHead = async (id: string, caller: Caller) => {
    const { head_task_id } = await getOwn(id, caller);
    return head_task_id && store.tasks.find(head_task_id);
  };

  async function resumeUi(id: string, { last_event_id, signal }: Resuming, caller: Caller) {
    const head = await findHead(id, caller);
    if (!head || (head.completed_at && Date.now() - Date.parse(head.completed_at) > REPLAYED_MS)) return null;
    const run = { task_id: head.id, workflow_id: head.workflow_id };
    const after = /^\d{1,9}$/.test(last_event_id ?? '') ? Number(last_event_id) : 0;
    if (isTerminal(head.status) && after > 0 && (await store.branches.lastEvent(head.id)) === after) return null;
    return streamUiMessage(readRunRecord(following, run, signal), { ...(await loadPlace(run)), after });
  }

  mount(api, frontEnds.sendUi, async ({ body, signal, ...request }, caller) => {
    const thread = await getOwn(request.params.id, caller);
    const command = parseUiCommand(body);
    const turn = await carryOut(thread, command, request, caller);
    return answerUi(turn, openRuns(turn, command, signal));
  });
  mount(api, frontEnds.resumeUi, ({ params: { id }, ...resuming }, caller) => resumeUi(id, resuming, caller));
  mount(api, frontEnds.resumeUiChat, ({ params: { id }, ...resuming }, caller) => resumeUi(id, resuming, caller));
  mount(api, frontEnds.uiMessages, async ({ params: { id }, query: { turns: most } }, caller) => {
    const { head_task_id } = await getOwn(id, caller);
    return listUiHistory(await loadHistory(store, head_task_id, most), toFileUrl);
  });

  mount(api, frontEnds.runAgUi, async ({ body, signal, warn, ...request }, caller) => {
    warn(...listUnusedFields(body).map((path) => ({ path, message: `\`${path}\` is not used` })));
    const thread = await getOwn(request.params.id, caller);
    try {
      const command = parseAgUiCommand(body);
      const turn = await carryOut(thread, command, request, caller);
      return answerAgUi(turn, body, openRuns(turn, command, signal));
    } catch (error) {
      if (!answersRun(body) || !isRefusal(error)) throw error;
      return refuseRun(error, { thread_id: body.threadId, run_id: body.runId });
    }
  });
  mount(api, frontEnds.connectAgUi, async ({ params: { id }, query: { turns: most }, signal }, caller) => {
    const { head_task_id } = await getOwn(id, caller);
    const history = await loadHistory(store, head_task_id, most);
    const head = history.at(-1);
    if (!head) return showEmptyThread(id);
    const run = { task_id: head.task_id, workflow_id: head.workflow_id };
    const place = { ...(await loadPlace(run)), thread_id: id, run_id: run.task_id };
    const earlier = omitRun(listAgUiHistory(history, toFileUrl), head.task_id);
    return connectToRun(readRunRecord(following, run, signal), { ...place, earlier, resumed: true });
  });
}

interface Resuming {
  last_event_id: string | undefined;
  signal: AbortSignal;
}

/** True for an error about what a request answers; others are about who asks, or about the installation. */
const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && ['invalid', 'not_found', 'conflict', 'unprocessable'].includes(error.kind);

async function* connectToRun(record: RunRecord, stream: AgUiStream): AsyncGenerator<SseFrame> {
  yield startRun(stream);
  yield* streamAgUi(record, stream);
}

async function* showEmptyThread(id: string): AsyncGenerator<SseFrame> {
  const place = { threadId: id, runId: id };
  yield startRun({ thread_id: id, run_id: id });
  yield { data: { type: 'MESSAGES_SNAPSHOT', messages: [] } };
  yield { data: { type: 'RUN_FINISHED', ...place, outcome: { type: 'success' } } };
}
