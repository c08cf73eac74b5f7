import { type AgUiRunInput, frontEnds } from '../../contracts/front-ends.ts';
import { listClientTools } from '../../domain/definition.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Caller } from '../../identity/caller.ts';
import { getOwnThread } from '../checks/owned.ts';
import { listUnusedFields, parseAgUiCommand } from '../compat/ag-ui/command.ts';
import { streamAgUi } from '../compat/ag-ui/stream.ts';
import { type FrontEndCommand, toPromptId } from '../compat/commands.ts';
import { listAgUiHistory, listUiHistory, loadHistory } from '../compat/front-end-history.ts';
import { type AnsweringTurn, createFrontEndTurns } from '../compat/front-end-turns.ts';
import { readRunRecord } from '../compat/projection/read-record.ts';
import { type CompatRun, type CompatServices, getDefinition } from '../compat/runs.ts';
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
  once<T>(work: (reserved_id?: string) => Promise<T>): Promise<{ value: T }>;
}

export function frontEndRoutes(api: Api, services: CompatServices): void {
  const { store, following } = services;
  const getOwn = getOwnThread(store);
  const turns = createFrontEndTurns(services);

  const carryOut = async (command: FrontEndCommand, { params: { id }, once }: Sent, caller: Caller): Promise<AnsweringTurn> => {
    const thread = await getOwn(id, caller);
    return (await once((task_id) => turns.carryOut(command, { thread, caller, task_id }))).value;
  };

  /** Returns what both projections need to know of a run. */
  async function loadPlace(run: CompatRun) {
    const definition = await getDefinition(services, run);
    const { max_turns } = definition.settings;
    return { task_id: run.task_id, toFileUrl, client_tools: listClientTools(definition), max_turns };
  }

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
    const { is_new, after, ...run } = await carryOut(parseUiCommand(body), request, caller);
    const receipt = is_new ? toReceipt(run) : undefined;
    return streamUiMessage(readRunRecord(following, run, signal), { ...(await loadPlace(run)), after, receipt });
  });
  mount(api, frontEnds.resumeUi, ({ params: { id }, ...resuming }, caller) => resumeUi(id, resuming, caller));
  mount(api, frontEnds.resumeUiChat, ({ params: { id }, ...resuming }, caller) => resumeUi(id, resuming, caller));
  mount(api, frontEnds.uiMessages, async ({ params: { id }, query: { turns: most } }, caller) => {
    const { head_task_id } = await getOwn(id, caller);
    return listUiHistory(await loadHistory(store, head_task_id, most), toFileUrl);
  });

  mount(api, frontEnds.runAgUi, async ({ body, signal, warn, ...request }, caller) => {
    warn(...listUnusedFields(body).map((path) => ({ path, message: `\`${path}\` is not used` })));
    const { is_new, after: _, ...run } = await carryOut(parseAgUiCommand(body), request, caller);
    const place = { ...(await loadPlace(run)), thread_id: body.threadId, run_id: body.runId, earlier: listEarlier(body, run) };
    const receipt = is_new ? toReceipt(run) : undefined;
    return streamAgUi(readRunRecord(following, run, signal), { ...place, resumed: !is_new, has_answered: !is_new, receipt });
  });
  mount(api, frontEnds.connectAgUi, async ({ params: { id }, query: { turns: most }, signal }, caller) => {
    const { head_task_id } = await getOwn(id, caller);
    const history = await loadHistory(store, head_task_id, most);
    const head = history.at(-1);
    if (!head) return showEmptyThread(id);
    const run = { task_id: head.task_id, workflow_id: head.workflow_id };
    const place = { ...(await loadPlace(run)), thread_id: id, run_id: run.task_id };
    const earlier = listAgUiHistory(history, toFileUrl).filter((message) => !isOfRun(message, run));
    return streamAgUi(readRunRecord(following, run, signal), { ...place, earlier, resumed: true });
  });
}

interface Resuming {
  last_event_id: string | undefined;
  signal: AbortSignal;
}

const toReceipt = ({ task_id }: CompatRun) => ({ id: task_id, state: 'started', task_id });

type Message = AgUiRunInput['messages'][number];

/** True for a message that the run itself has made, or the result that a client sent for one of its calls. */
const isOfRun = ({ id, toolCallId }: Record<string, unknown>, { task_id }: CompatRun) =>
  (String(id).startsWith(`${task_id}-`) && id !== toPromptId(task_id)) || String(toolCallId).startsWith(`call_${task_id}_`);

/** Returns the messages that the client has, without those of the run that it continues. */
const listEarlier = ({ messages }: AgUiRunInput, run: CompatRun) => messages.filter((message: Message) => !isOfRun(message, run));

async function* showEmptyThread(id: string): AsyncGenerator<SseFrame> {
  const place = { threadId: id, runId: id };
  yield { data: { type: 'RUN_STARTED', ...place } };
  yield { data: { type: 'MESSAGES_SNAPSHOT', messages: [] } };
  yield { data: { type: 'RUN_FINISHED', ...place, outcome: { type: 'success' } } };
}
