import { OutsideRefused } from './outside.ts';
import { storable } from './transcript.ts';

/** The longest text of a reply. Only a model that has run wild exceeds it. */
export const REPLY_CHARACTERS = 8 * 1_024 * 1_024;
export const MOST_CALLS = 256;
const CALL_NAME_CHARACTERS = 256;
const CALL_ID_CHARACTERS = 1_024;
const ARGUMENT_CHARACTERS = 2 * 1_024 * 1_024;
export const DEEPEST = 100;
const WORD_CHARACTERS = 200;
const MADE_THERE = 1_000;
const RESULT_CHARACTERS = 256 * 1_024;
const MOST_TOKENS = 100_000_000;

interface Call {
  id: string;
  name: string;
  arguments: string;
}

/** A model's reply as a runtime passes it on. */
interface Reply {
  text: string;
  reasoning?: string;
  calls: Call[];
  finish: string;
  model: string | null;
  usage: { total_in: number; total_out: number; cache_read: number; cache_write: number };
  extra: unknown;
  made_there?: (Call & { result: { content: string; failed: boolean } | null })[];
}

/**
 * Converts a reported number to a token count that counters can hold, whatever the endpoint sends: not below zero, no fraction,
 * not above the maximum.
 */
export const tokenCount = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.min(Math.round(value), MOST_TOKENS) : 0;

/** Limits a reply and makes every text of it storable. Throws `OutsideRefused` for a part for which that would lose something. */
export function normalReply<R extends Reply>(reply: R): R {
  const { text, reasoning, calls, finish, extra, made_there } = reply;
  if (text.length > REPLY_CHARACTERS) throw answerTooLarge();
  if (calls.length > MOST_CALLS) throw tooManyCalls();
  return {
    ...reply,
    ...normalCharge(reply),
    text: storable(text),
    ...(reasoning ? { reasoning: storable(reasoning) } : {}),
    calls: (finish === 'length' ? withCutCall(calls) : calls).map(normalCall),
    finish: word(finish),
    extra: storableValue(extra, 'model_answer_too_large'),
    ...(made_there ? { made_there: made_there.slice(-MADE_THERE).map(normalMadeThere) } : {}),
  };
}

/** Returns the model that answered and the usage of the answer, within bounds. */
export const normalCharge = ({ model, usage }: Pick<Reply, 'model' | 'usage'>): Pick<Reply, 'model' | 'usage'> => ({
  model: model === null ? null : word(model),
  usage: {
    total_in: tokenCount(usage.total_in),
    total_out: tokenCount(usage.total_out),
    cache_read: tokenCount(usage.cache_read),
    cache_write: tokenCount(usage.cache_write),
  },
});

export const answerTooLarge = () =>
  new OutsideRefused(`The model's answer was broken off: more than ${REPLY_CHARACTERS} characters`, 'model_answer_too_large');
export const tooManyCalls = () =>
  new OutsideRefused(`The model's answer was broken off: more than ${MOST_CALLS} tool calls at once`, 'tool_calls_too_many');

/** Stands for the arguments of a call that was cut before them. It is not JSON, so the call is not made as if it had none. */
const CUT_ARGUMENTS = '{';

/** Returns the calls of a reply that ended at the output limit, where the last one may have been cut. */
const withCutCall = <C extends Call>(calls: C[]): C[] =>
  calls.at(-1)?.arguments.trim() === '' ? calls.with(-1, { ...(calls.at(-1) as C), arguments: CUT_ARGUMENTS }) : calls;

function normalCall<C extends Call>(call: C): C {
  const { id, name, arguments: args } = call;
  if (name.length > CALL_NAME_CHARACTERS)
    throw new OutsideRefused(
      `The model called a tool by a name of ${name.length} characters (${storable(name.slice(0, 40))}…); ${CALL_NAME_CHARACTERS} are the most`,
      'tool_name_too_long',
    );
  if (id.length > CALL_ID_CHARACTERS)
    throw new OutsideRefused(`The model gave a tool call an id of ${id.length} characters`, 'model_answer_too_large');
  const of = `The arguments of the model's call of ${storable(name)}`;
  if (args.length > ARGUMENT_CHARACTERS)
    throw new OutsideRefused(`${of} are longer than ${ARGUMENT_CHARACTERS} characters`, 'tool_arguments_too_large');
  if (isTooDeepText(args)) throw tooDeep(of);
  return { ...call, id: storable(id), name: storable(name), arguments: storable(args) };
}

/** Limits a call that was made already, so no part of it is rejected. */
function normalMadeThere<C extends NonNullable<Reply['made_there']>[number]>(call: C): C {
  const { id, name, arguments: args, result } = call;
  return {
    ...call,
    id: storable(id.slice(0, CALL_ID_CHARACTERS)),
    name: word(name),
    arguments: isTooDeepText(args) ? '' : truncate(args, RESULT_CHARACTERS),
    result: result && { ...result, content: truncate(result.content, RESULT_CHARACTERS) },
  };
}

const word = (text: string) => storable(text.slice(0, WORD_CHARACTERS));

const truncate = (text: string, most: number) =>
  text.length <= most ? storable(text) : `${storable(text.slice(0, most))}\n[cut here: ${text.length - most} more characters]`;

/** Returns a text, or '' for any other type: an endpoint may send anything in a field documented as text. */
export const toText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the text of a value that an endpoint sent instead of its JSON. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  if (isTooDeep(value)) throw tooDeep("The arguments of the model's call");
  return JSON.stringify(value);
}

const tooDeep = (what: string) =>
  new OutsideRefused(`${what} are nested deeper than ${DEEPEST} levels`, 'tool_arguments_too_deep');

/** True if JSON is nested too deep to be parsed safely. Only its brackets are counted, so nothing is parsed. */
export function isTooDeepText(json: string, most = DEEPEST): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > most) return true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [34, 92, 123, 125, 91, 93];

/** True if a value is nested too deep. Looks no deeper than the limit. */
export function isTooDeep(value: unknown, most = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((inner) => isTooDeep(inner, most - 1));
}

/** Returns the value with every text of it storable, keys included. */
export function storableValue<T>(value: T, code: string): T {
  if (isTooDeep(value)) throw new OutsideRefused(`A value is nested deeper than ${DEEPEST} levels`, code);
  return UNSTORABLE.test(JSON.stringify(value)) ? (makeStorable(value) as T) : value;
}

/**
 * Matches the JSON escapes of characters that cannot be stored. A text that only quotes such an escape merely gets a closer
 * check.
 */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/i;

function makeStorable(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(makeStorable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), makeStorable(inner)]));
}

interface DeltaJoiner {
  push(delta: string): void;
  end(): void;
}

/**
 * Emits text in pieces as it will be on record: the emitted pieces, joined, equal `storable` of all pushed pieces, joined. Half a
 * character at the end of a piece waits for its other half. Throws `OutsideRefused` when the whole exceeds the longest reply.
 */
export function deltaJoiner(emit: (delta: string) => void): DeltaJoiner {
  let half = '';
  let characters = 0;
  return {
    push(delta) {
      characters += delta.length;
      if (characters > REPLY_CHARACTERS) throw answerTooLarge();
      const text = half + delta;
      half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : '';
      const whole = half === '' ? text : text.slice(0, -1);
      if (whole !== '') emit(storable(whole));
    },
    end() {
      if (half !== '') emit(storable(half));
      half = '';
    },
  };
}
