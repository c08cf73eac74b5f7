import type { AttachedFile, ModelFile } from './attachments.ts';

/** A tool call as the model made it; `arguments` is the model's own text. */
export interface ModelCall {
  call_id: string;
  name: string;
  arguments: string;
}

type MessageKind =
  | 'prompt'
  | 'steer'
  | 'reply'
  | 'partial'
  | 'result'
  | 'denial'
  | 'reminder'
  | 'repair'
  | 'invalid'
  | 'summary'
  | 'context'
  | 'withheld';

export interface TranscriptMessage {
  /** The number of the turn that the message belongs to; absent: the transcript has only one turn. */
  turn?: number;
  step: number;
  position: number;
  role: 'user' | 'assistant' | 'tool' | 'system';
  kind: MessageKind;
  content: string;
  tool_calls: ModelCall[] | null;
  call_id: string | null;
  /** Data that a runtime must send back with a reply; only that runtime understands it. */
  extra: unknown;
}

/** A message as a model is sent it. */
export type SentMessage = TranscriptMessage & {
  /** Images and PDF files of a prompt, or images and sounds that a tool returned; absent: none. */
  files?: readonly ModelFile[];
};

/** The position of a reminder among the messages of a step: after every tool result. */
export const REMINDER_POSITION = 100_000;

/** The position of the message about a rejected answer, among the messages of a step: after the answer. */
export const REPAIR_POSITION = 110_000;

/** The first position of a message that was sent to a run while it worked, among those of the step before it reads it: after the others. */
export const STEER_POSITION = 120_000;

/** A message that was sent to a run while it works, and that it has not read. */
export interface WaitingMessage {
  id: string;
  content: string;
  attachments: AttachedFile[] | null;
}

/** What a message that was sent to a run while it worked keeps as its data. */
export interface SteerExtra {
  message_id: string;
  /** Absent: none. */
  attachments?: AttachedFile[];
}

/** The positions of context: before the prompt. */
export const MEMORY_POSITION = -2;
export const KNOWLEDGE_POSITION = -1;

const GOAL_CHARACTERS = 300;

export const DENIAL = 'Denied: the turn limit of this run is reached, no further tool call is made. Answer with what you have.';

const DENIED_BY_PERSON = 'Denied by a person';
/** The result of a call that a person denied, with what the person wrote. */
export const formatDenial = (message: string | undefined) =>
  message ? `${DENIED_BY_PERSON}: ${message}` : `${DENIED_BY_PERSON}.`;
/** Returns what the person wrote who denied a call; undefined if nothing. */
export const parseDenial = (result: string): string | undefined =>
  result.startsWith(`${DENIED_BY_PERSON}: `) ? result.slice(DENIED_BY_PERSON.length + 2) : undefined;

/** The results of calls that were open when their run ended: one for calls that may have run, one for those that did not. */
export const OUTCOME_UNKNOWN = 'The run ended before the result of this call was recorded; the tool may have run.';
export const NOT_CALLED = 'The run ended before this tool was called.';

export const formatReminder = (prompt: string) =>
  `Reminder: more than half of the allowed tool calls are used. The goal is: ${[...prompt].slice(0, GOAL_CHARACTERS).join('')}`;

/** Returns Perdura's id of a call: stable, unique in the task and short, independent of the model's id. */
export const toCallId = (step: number, index: number) => `${step}-${index + 1}`;

/** Returns text that the database can hold: without null characters and halves of surrogate pairs. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\u0000', '\uFFFD');
