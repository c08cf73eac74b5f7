import type { Thread } from '../../contracts/threads.ts';
import { AppError, foreign } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { WiredTask } from '../../store/runs/wired-task.ts';
import type { PromptOrder } from '../../temporal/start/new-task.ts';
import { getHome, getOwnTask } from '../checks/owned.ts';
import { type AskedFile, parseAttachments } from '../routes/attachments.ts';
import { createCallDecisions, NOTHING_TO_DECIDE } from '../service/call-decisions.ts';
import { answerCalls } from './client-calls.ts';
import { type CallAnswer, createCommandRefusal, type FrontEndCommand, parseTurnId } from './commands.ts';
import { formatValue } from './openai/client-tools.ts';
import type { CompatServices } from './runs.ts';

/** Where a command is carried out. */
interface FrontEndPlace {
  thread: Pick<Thread, 'id' | 'workflow_id' | 'head_task_id'>;
  caller: Caller;
  /** The id of the turn that the command begins, if the request has reserved one. */
  task_id: string | undefined;
  /** The claim of the request's Idempotency-Key; undefined: it has none. */
  claim: number | undefined;
}

/** The turn whose answer the client gets, and the last event that it has of it. */
export interface AnsweringTurn {
  task_id: string;
  workflow_id: string;
  after: number;
  /** True if the command began the turn. */
  is_new: boolean;
  /** The message of the command: the prompt of the turn, or one that waits for the turn to read it. Absent: it was something else. */
  message_id?: string | undefined;
}

type Message = Extract<FrontEndCommand, { kind: 'message' }>;
type Regeneration = Extract<FrontEndCommand, { kind: 'regenerate' }>;

/** Carries out what the pages of both protocols ask for: messages, other answers, and decisions. */
export function createFrontEndTurns(services: CompatServices) {
  const { store, dispatch, attach } = services;
  const decisions = createCallDecisions(services);

  const attachFiles = async ({ message: { files } }: Message, owner: string) =>
    attach(files.length > 0 ? (parseAttachments(files) as AskedFile[]) : [], owner);

  const toSender = ({ caller: { key, login, access_token, service_key }, task_id, claim }: FrontEndPlace) => ({
    task_id,
    claim,
    owner: key,
    owner_login: login,
    access_token,
    service_key_id: service_key?.id,
  });

  /** Returns what happens to a command while a turn is in progress. */
  const findPolicy = async ({ when_busy }: Message | Regeneration, workflow_id: string): Promise<string> =>
    when_busy ?? (await store.workflows.find(workflow_id))?.on_busy ?? 'enqueue';

  /** The same for what is written in place of a turn: it neither enters the one in progress nor runs next to it, so it waits. */
  const findForkPolicy = async (command: Message | Regeneration, { workflow_id }: WiredTask): Promise<string> => {
    const policy = await findPolicy(command, workflow_id);
    return policy === 'steer' || policy === 'fork' ? 'enqueue' : policy;
  };

  /** Sends a message to the thread, as the next turn or to the one in progress: the one place from which front ends do. */
  async function send(command: Message, place: FrontEndPlace): Promise<AnsweringTurn> {
    const { id: thread_id } = place.thread;
    const workflow_id = getHome(place.thread);
    const attachments = await attachFiles(command, place.caller.key);
    const prompt = toPrompt(command);
    const when_busy = await findPolicy(command, workflow_id);
    const order = { ...toSender(place), workflow_id, thread_id, prompt, attachments, client_tools: command.client_tools };
    const sent = await dispatch.send({ ...order, on_busy: when_busy, receipt: toReceipt(when_busy), trigger: 'thread' });
    if ('started' in sent) return { ...toNewTurn(sent.started), message_id: sent.started.task_id };
    const { id: message_id, task_id } = sent.steered;
    return { task_id, workflow_id, after: 0, is_new: false, message_id };
  }

  /** Sends the prompt of a turn that has made no step again: there is nothing that a fork could copy. */
  async function sendAgain(
    source: WiredTask,
    more: Pick<PromptOrder, 'on_busy' | 'receipt' | 'attachments'> & { prompt?: string },
    place: FrontEndPlace,
  ) {
    const { prompt, attachments, workflow_id, thread_id, previous_task_id, thread_turn } = source;
    const follows = { task_id: previous_task_id, turn: thread_turn! - 1 };
    const order = { ...toSender(place), workflow_id, thread_id: thread_id!, follows, prompt, attachments, trigger: 'thread' };
    return toNewTurn(await dispatch.prompt({ ...order, ...more }));
  }

  async function edit(command: Message, source: WiredTask, place: FrontEndPlace): Promise<AnsweringTurn> {
    const { text, files } = command.message;
    if (text === source.prompt && files.length === 0) return regenerate(source, command, place);
    const prompt = toPrompt(command);
    const attachments = await attachFiles(command, place.caller.key);
    const on_busy = await findForkPolicy(command, source);
    const message = { prompt, attachments, on_busy, receipt: toReceipt(on_busy) };
    const toTurn = (turn: AnsweringTurn) => ({ ...turn, message_id: turn.task_id });
    if ((await store.forks.steps(source.id)).length === 0) return toTurn(await sendAgain(source, message, place));
    const { workflow_id } = source;
    // None of the calls of the new message has been made yet.
    const fork = { ...toSender(place), source, workflow_id, in_thread: true, from_step: 1, effects: 'live' as const };
    return toTurn(toNewTurn(await dispatch.fork({ ...fork, ...message })));
  }

  /** Answers again from the last step: the calls before it are not made again. */
  async function regenerate(source: WiredTask, command: Message | Regeneration, place: FrontEndPlace): Promise<AnsweringTurn> {
    const last_step = (await store.forks.steps(source.id)).at(-1);
    const on_busy = await findForkPolicy(command, source);
    if (!last_step) return sendAgain(source, { on_busy }, place);
    const { workflow_id } = source;
    const fork = { ...toSender(place), source, workflow_id, in_thread: true, from_step: last_step.step };
    return toNewTurn(await dispatch.fork({ ...fork, on_busy, effects: 'recorded' }));
  }

  /** Returns the turn to which a message belongs: that of its id or, if the page chose the id, the one after the answer before it. */
  async function findTurn(
    { message_id, answer_before }: { message_id: string | null; answer_before: string | null },
    { thread, caller }: FrontEndPlace,
  ): Promise<WiredTask> {
    const unknown = () =>
      createCommandRefusal('messageId', `No message of this thread has the id ${message_id}; load the messages again`);
    const task_id =
      message_id === null ? thread.head_task_id : (parseTurnId(message_id) ?? (await findAfter(answer_before, thread)));
    if (!task_id)
      throw message_id === null ? createCommandRefusal('messages', 'The thread has no answer yet; send a message') : unknown();
    const task = await getOwnTask(store)(task_id, caller);
    if (task.thread_id !== thread.id) throw unknown();
    return task;
  }

  async function findAfter(answer_before: string | null, { head_task_id }: FrontEndPlace['thread']): Promise<string | null> {
    const previous_task_id = answer_before === null ? null : parseTurnId(answer_before);
    if (!head_task_id || (answer_before !== null && !previous_task_id)) return null;
    const turn = await store.branches.turnAfter(head_task_id, previous_task_id);
    // Without an answer before it, a message is the first one only if there is no other: the page may have left out what is older.
    return turn && (previous_task_id || turn === head_task_id) ? turn : null;
  }

  async function decide(
    { task_id, answers, after }: Extract<FrontEndCommand, { kind: 'decide' }>,
    { thread, caller }: FrontEndPlace,
  ): Promise<AnsweringTurn> {
    const task = await getOwnTask(store)(task_id, caller);
    if (task.thread_id !== thread.id) throw foreign('thread');
    for (const answer of answers) await give(answer, task, caller);
    return { task_id, workflow_id: task.workflow_id, after: after ?? 0, is_new: false };
  }

  async function give(answer: CallAnswer, { id: task_id, workflow_id }: WiredTask, caller: Caller): Promise<void> {
    const call = { task_id, workflow_id, call_id: answer.call_id };
    if (answer.kind === 'result') {
      const outputs = [{ call_id: answer.call_id, output: formatValue(answer.result ?? ''), failed: answer.failed }];
      return answerCalls(services, { task_id, workflow_id }, { outputs, caller });
    }
    try {
      if (answer.kind === 'question') {
        const { question_id, action, content } = answer;
        await decisions.answer(call, { question_id, action, content }, caller);
      } else await decisions.decide(call, toDecision(answer), caller);
    } catch (error) {
      // A page that lost its connection sends the same again: what has been decided that way stays.
      if (!isNothingAsked(error) || !(await wasGiven(answer, task_id))) throw error;
    }
  }

  /** True if a call no longer waits because the same has been answered before. */
  async function wasGiven(answer: CallAnswer, task_id: string): Promise<boolean> {
    const call = await store.ledger.open(task_id, answer.call_id);
    if (!call?.known) return false;
    const is_denied = call.status === 'denied' || call.decision?.decision === 'deny';
    if (answer.kind === 'approval') return answer.approved !== is_denied;
    if (answer.kind !== 'question') return answer.kind === 'reconciliation';
    const asked = await store.ledger.question({ task_id, call_id: answer.call_id });
    return asked?.answers.some(({ question_id }) => question_id === answer.question_id) === true;
  }

  return {
    async carryOut(command: FrontEndCommand, place: FrontEndPlace): Promise<AnsweringTurn> {
      if (command.kind === 'decide') return decide(command, place);
      const { answer_before } = command;
      if (command.kind === 'regenerate')
        return regenerate(await findTurn({ message_id: command.message_id, answer_before }, place), command, place);
      if (command.replaces === null) {
        const later = command.follows && (await findAfter(command.follows, place.thread));
        return later ? edit(command, await getOwnTask(store)(later, place.caller), place) : send(command, place);
      }
      return edit(command, await findTurn({ message_id: command.replaces, answer_before }, place), place);
    },
  };
}

const toReceipt = (when_busy: string) => ({ when_busy, metadata: {} });

const toNewTurn = ({ task_id, workflow_id }: { task_id: string; workflow_id: string }): AnsweringTurn => ({
  task_id,
  workflow_id,
  after: 0,
  is_new: true,
});

const toDecision = (answer: Extract<CallAnswer, { kind: 'approval' | 'reconciliation' }>) => {
  if (answer.kind === 'reconciliation') return { decision: answer.decision, result: answer.result };
  return {
    decision: answer.approved ? ('approve' as const) : ('deny' as const),
    ...(answer.message ? { message: answer.message } : {}),
  };
};

const NOTHING_ASKED = [NOTHING_TO_DECIDE, 'nothing_to_answer'];
const isNothingAsked = (error: unknown) => error instanceof AppError && NOTHING_ASKED.includes(error.code ?? '');

/** Returns the text of a message, followed by what the page sends for the agent besides. */
const toPrompt = ({ message: { text }, context = [] }: Message): string =>
  [text, ...context.map(({ description, value }) => `<context name=${JSON.stringify(description)}>\n${value}\n</context>`)]
    .filter((part) => part !== '')
    .join('\n\n');
