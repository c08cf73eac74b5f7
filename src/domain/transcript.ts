/** A tool call as the model made it; `arguments` is the model's own text. */
export interface ModelCall {
  call_id: string;
  name: string;
  arguments: string;
}

type MessageKind = 'prompt' | 'reply' | 'partial' | 'result' | 'denial' | 'reminder' | 'summary' | 'context' | 'withheld';

export interface TranscriptMessage {
  step: number;
  position: number;
  role: 'user' | 'assistant' | 'tool' | 'system';
  kind: MessageKind;
  content: string;
  tool_calls: ModelCall[] | null;
  call_id: string | null;
  /** What a runtime must send back with a reply; only that runtime understands it. */
  extra: unknown;
}

/** Where a reminder stands among the messages of a step: after every tool result. */
export const REMINDER_POSITION = 100_000;

/** Where context stands: before the prompt. */
export const MEMORY_POSITION = -2;
export const KNOWLEDGE_POSITION = -1;

const GOAL_CHARACTERS = 300;

export const DENIAL = 'Denied: the turn limit of this run is reached, no further tool call is made. Answer with what you have.';

/** Results of calls that a run left open when it ended: of those that had begun, and of those that had not. */
export const OUTCOME_UNKNOWN = 'The run ended while this tool ran; what came of it is unknown.';
export const NOT_CALLED = 'The run ended before this tool was called.';

export const reminderOf = (prompt: string) =>
  `Reminder: more than half of the allowed tool calls are used. The goal is: ${[...prompt].slice(0, GOAL_CHARACTERS).join('')}`;

/** Our own id of a call: stable, unique in the task and short, whatever id the model gave. */
export const callIdOf = (step: number, index: number) => `${step}-${index + 1}`;

/** Text that the database can hold: it has no place for the null character or half a surrogate pair. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\u0000', '\uFFFD');

/** The parsed final answer: a JSON value for `json` (text that is none is wrapped), the text itself for `markdown`. */
export function responseOf(text: string, output_format: string): unknown {
  if (output_format !== 'json') return text;
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text);
  try {
    return JSON.parse(fenced?.[1] ?? text);
  } catch {
    return { response: text };
  }
}
