import type { PerduraClient, TaskEvent, Thread } from '../../client/index.ts';
import { pause } from '../../client/pause.ts';
import { excerpt } from '../remote/show-run.ts';
import { loadReceipt, type NewMessage, type Receipt, receiptOfTurn, sendMessage } from './messages.ts';
import type { Output } from './screen.ts';
import { beginThread, type Choice, type Home } from './threads.ts';
import { createTurnPrinter } from './turn-lines.ts';

const RECEIPT_PAUSE_MS = 300;

/** A thread as this terminal sees it. */
export interface TerminalChat {
  client: PerduraClient;
  output: Output;
  /** True: each event of a turn is a line of JSON. */
  json: boolean;
  /** Null until the first message begins it. */
  thread: Thread | null;
  home: Home | null;
  /** Messages of which nobody knows yet which turn they belong to, and those whose turn was not shown. */
  open: Map<string, Receipt>;
  /** The messages that a turn was seen to read. */
  read: Set<string>;
  /** The turns that were shown, or are. */
  shown: Set<string>;
  /** The turn that is being shown. */
  turn: string | null;
  is_following: boolean;
  /** True if the next turn that is shown is to stop at once: it was asked for, and not known yet, when the person stopped it. */
  is_stopping: boolean;
  has_failed: boolean;
  /** Aborted when the person leaves. Turns continue. */
  leave: AbortSignal;
  /** Gets the events of turns, if decisions and answers are asked for here. */
  ask?: { onEvent(event: TaskEvent, task_id: string): void; onEnd(): void };
}

type Beginning = Pick<TerminalChat, 'client' | 'output' | 'json' | 'leave'>;

/** Opens a conversation. A turn that is in progress is the first to be followed. */
export function openConversation(beginning: Beginning, choice: Choice): TerminalChat {
  const { thread, home } = { thread: null, home: null, ...choice };
  const turn = thread?.active_task_id ? receiptOfTurn(thread.active_task_id, thread.id) : null;
  return {
    ...beginning,
    thread,
    home,
    open: new Map(turn ? [[turn.id, turn]] : []),
    read: new Set(),
    shown: new Set(),
    turn: null,
    is_following: false,
    is_stopping: false,
    has_failed: false,
  };
}

/** Sends a message, and begins the thread with the first one. */
export async function send(conversation: TerminalChat, message: NewMessage): Promise<Receipt> {
  const { client, home } = conversation;
  conversation.thread ??= await beginThread(client, home!, message.message);
  const receipt = await sendMessage(client, conversation.thread.id, message);
  // Its run may have read it before the receipt arrived.
  if (!conversation.read.has(receipt.id)) conversation.open.set(receipt.id, receipt);
  return receipt;
}

/** Shows the turns that open messages belong to, one after another, until no message is open. */
export async function followTurns(conversation: TerminalChat): Promise<void> {
  if (conversation.is_following) return;
  conversation.is_following = true;
  try {
    while (conversation.open.size > 0) {
      const task_id = await findNextTurn(conversation);
      if (task_id !== null) await showTurn(conversation, task_id);
      else if (conversation.open.size > 0) await pause(RECEIPT_PAUSE_MS, conversation.leave);
    }
  } finally {
    conversation.is_following = false;
    conversation.is_stopping = false;
  }
}

/** Closes messages that are in a final state. Returns a turn that was not shown; null if no open message has one yet. */
async function findNextTurn({ client, open, shown, output }: TerminalChat): Promise<string | null> {
  for (const known of open.values()) {
    const receipt = known.state === 'pending' ? await loadReceipt(client, known) : known;
    const is_waiting = receipt.state === 'pending';
    if ((is_waiting || receipt.state === 'started') && !shown.has(receipt.task_id)) return receipt.task_id;
    if (is_waiting) continue;
    open.delete(receipt.id);
    if (receipt.state !== 'started') output.note(`Your message ${formatReceipt(receipt)}`);
  }
  return null;
}

/** Formats the state of a message. */
export function formatReceipt({ state, task_id, step, reason }: Receipt): string {
  switch (state) {
    case 'pending':
      return `waits for the run ${task_id}, which reads it at its next step`;
    case 'started':
      return `started the run ${task_id}`;
    case 'steered':
      return `was read by the run ${task_id} at step ${step}`;
    case 'refused':
      return `was refused: ${reason}`;
    case 'withdrawn':
      return 'was withdrawn';
  }
}

/** Shows a turn until it has ended; a lost connection continues where it broke off. */
async function showTurn(conversation: TerminalChat, task_id: string): Promise<void> {
  const { client, output, json, ask, open, read, shown, leave } = conversation;
  shown.add(task_id);
  conversation.turn = task_id;
  if (conversation.is_stopping) void stopTurn(conversation);
  const show = json
    ? (event: TaskEvent) => output.write(`${JSON.stringify(event)}\n`)
    : createTurnPrinter({ output, task_id, asks: ask !== undefined });
  try {
    for await (const event of client.tasks.events(task_id, { signal: leave })) {
      show(event);
      ask?.onEvent(event, task_id);
      const steer = findSteer(event);
      if (steer === null) continue;
      read.add(steer.message_id!);
      open.delete(steer.message_id!);
      output.note(`  ↳ step ${steer.step} reads: ${excerpt(steer.content)}`);
    }
    const { status, error } = await client.tasks.get(task_id, { include: '', signal: leave });
    if (status === 'failed') output.note(`The turn failed: ${error}`);
    if (status === 'halted') output.note('The turn was stopped; what was written stays in the thread');
    conversation.has_failed ||= status !== 'completed';
  } finally {
    conversation.turn = null;
    ask?.onEnd();
  }
}

type MessageEvent = Extract<TaskEvent, { type: 'message' }>;

/** Returns the message that a person sent into the run, if the event is one; otherwise null. */
const findSteer = ({ type, data }: TaskEvent): MessageEvent['data'] | null =>
  type === 'message' && data.kind === 'steer' ? data : null;

/** Asks the turn in progress to stop, or the next one if none is known yet. A turn that has ended by itself meanwhile needs no stop. */
export async function stopTurn(conversation: TerminalChat): Promise<void> {
  const { client, output, turn, leave } = conversation;
  conversation.is_stopping = turn === null;
  if (turn === null) return;
  output.note('Stopping …');
  await client.tasks.stop(turn, { signal: leave }).catch((error: Error & { status?: number }) => {
    if (error.status !== 409 && !leave.aborted) output.note(`Not stopped: ${error.message}`);
  });
}
