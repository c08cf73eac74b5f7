import type OpenAI from 'openai';
import { nameFinish, parseFinish } from '../domain/finish.ts';
import { answerTooLarge, jsonText, REPLY_CHARACTERS, toText } from '../domain/normalise.ts';
import { Misshapen } from '../domain/reason.ts';
import { createThinkingSplitter } from '../domain/thinking.ts';
import { NO_EXCHANGE_USAGE } from '../domain/usage.ts';
import type { BodyEnd } from './answer-body.ts';
import { isPlaceholderText } from './call-arguments.ts';
import { assembleCalls, type CallPart, readNamed } from './call-assembler.ts';
import { divideTotal } from './estimated-usage.ts';
import type { Exchange, ModelReply } from './runtime.ts';
import { usableReply } from './usable-reply.ts';
import { findUsage } from './usage-report.ts';

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;
type Delta = Omit<Chunk['choices'][number]['delta'], 'tool_calls' | 'function_call'> & {
  tool_calls?: unknown;
  /** A call in the form before `tool_calls`. */
  function_call?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  reasoning_text?: unknown;
  thinking?: unknown;
  reasoning_details?: unknown;
};

/** A part of a content. */
interface Part {
  type?: unknown;
  text?: unknown;
  thinking?: unknown;
  reasoning?: unknown;
  summary?: unknown;
}

/** The data that goes back with a reply: reasoning, and the endpoint's additions to each call, in the order of the calls. */
export interface ReplyExtra {
  reasoning_content?: string;
  reasoning_details?: object[];
  /** Thinking that was part of the text. */
  thought?: string;
  calls?: ({ extra_content: unknown } | null)[];
}

interface ReplyCollector {
  /** Adds a chunk of a stream. Throws if the reply becomes too large. */
  add(chunk: object): void;
  /** Adds an answer that was sent at once. Throws if it is none. */
  addWhole(answer: object): void;
  /** Returns the reply after the last chunk. Throws a ModelFailure if the result is not a usable answer. */
  reply(end: BodyEnd): ModelReply;
}

/** `tools`: those that the model may call. */
interface ReplyPorts extends Partial<Pick<Exchange, 'report' | 'reportHidden' | 'tools'>> {
  emit(delta: string): void;
}

/** Collects the chunks of a streamed reply, and emits its text. */
export function collectReply({ emit, report = () => {}, reportHidden = () => {}, tools = [] }: ReplyPorts): ReplyCollector {
  const reply: ModelReply = { text: '', calls: [], finish: '', model: null, usage: NO_EXCHANGE_USAGE, extra: null };
  const calls = assembleCalls(new Set(tools.map(({ name }) => name)));
  let reasoning = '';
  const thinking = createThinkingSplitter();
  const say = (text: string) => {
    if (text) emit(text);
  };
  const details = detailGatherer();
  let [has_refused, finish_word, has_final_usage, has_total_only, has_streamed] = [false, '', false, false, false];
  let [characters, withheld] = [0, 0];
  /** Emits what of a piece is text. What is held back counts as thinking until it is known to be text. */
  const split = (piece: string) => {
    const shown = thinking.push(piece);
    withheld += piece.length - shown.length;
    if (withheld > 0) reportHidden(piece.slice(-withheld));
    withheld = Math.min(withheld, 0);
    say(shown);
  };
  // After the text of the chunk, which it includes.
  const reportUsage = (found: unknown) => {
    if (found) report({ model: reply.model, usage: reply.usage });
  };
  const add = (chunk: Chunk): void => {
    reply.model ??= toText(chunk.model) || null;
    const [choice] = chunk.choices ?? [];
    const found = findUsage(chunk);
    if (found) [reply.usage, has_total_only] = [found.usage, found.is_total];
    if (!choice) {
      has_final_usage ||= found !== null;
      reportUsage(found);
      return;
    }
    // MiniMax ends its stream with the whole message, which came in pieces.
    const is_repeated = !('delta' in choice) && has_streamed;
    const delta = is_repeated ? {} : getDelta(choice);
    const text = deltaText(delta);
    const parts = listParts(delta);
    has_streamed ||= 'delta' in choice && (text !== '' || parts.length > 0);
    if (text) split(text);
    const thought = getReasoning(delta);
    const detailed = toJsonText(delta.reasoning_details);
    const called = parts.map(readNamed).reduce((texts, { name, arguments: args }) => texts + name + args, '');
    // Some endpoints send the thinking twice, in separate fields.
    const hidden = (thought || detailed) + called;
    if (hidden) reportHidden(hidden);
    reportUsage(found);
    has_refused ||= Boolean(delta.refusal);
    reasoning += thought;
    details.add(delta.reasoning_details);
    calls.add(parts);
    const additions = parts.map(({ extra_content }) => toJsonText(extra_content));
    for (const piece of [text, thought, detailed, called, ...additions]) characters += piece.length;
    if (characters > REPLY_CHARACTERS) throw answerTooLarge();
    const finish = parseFinish(choice.finish_reason);
    if (finish) [reply.finish, finish_word] = [finish, nameFinish(choice.finish_reason)];
  };
  return {
    add: (chunk) => add(chunk as Chunk),
    addWhole(answer) {
      const { choices } = answer as Partial<Chunk>;
      if (!Array.isArray(choices) || !choices[0]) throw new Misshapen('the answer has no choices');
      add(answer as Chunk);
    },
    reply(end) {
      const all = calls.all();
      const sent = all.map(({ extra: _, ...call }) => call);
      reply.calls = reply.finish === 'length' ? withoutPlaceholder(sent) : sent;
      if (has_refused && reply.finish === 'stop') reply.finish = 'refusal';
      const additions = all.map(({ extra }) => extra);
      say(thinking.end());
      const answer = thinking.all();
      // A model that stops within its thinking has answered there.
      const has_stopped = reply.finish === 'stop' || (reply.finish === '' && end.by !== 'none');
      const is_unended = answer.is_unended && all.length === 0 && has_stopped;
      reply.text = is_unended ? answer.reasoning : answer.text;
      if (is_unended) say(reply.text);
      const thought = [reasoning || details.text(), is_unended ? '' : answer.reasoning]
        .filter((part) => part !== '')
        .join('\n\n');
      if (thought !== '') reply.reasoning = thought;
      const parts = { reasoning, details: details.all(), thought: answer.reasoning, additions };
      reply.extra = all.length > 0 ? buildExtra(parts) : null;
      if (has_total_only) Object.assign(reply, divideTotal(reply));
      const is_whole = has_final_usage || (reply.text === '' && calls.areWhole());
      return usableReply(reply, { end, finish_word, is_whole, advice: 'lower the reasoning effort or shorten the input' });
    },
  };
}

/** Returns the calls of a reply that ended at the output limit. A placeholder at its end stands for arguments that were cut. */
const withoutPlaceholder = (calls: ModelReply['calls']): ModelReply['calls'] =>
  calls.map((call, at) => (at === calls.length - 1 && isPlaceholderText(call.arguments) ? { ...call, arguments: '' } : call));

/** Some endpoints send the whole message in a chunk, some text alone. */
function getDelta(choice: Chunk['choices'][number]): Delta {
  const { delta, message, text } = choice as { delta?: unknown; message?: unknown; text?: unknown };
  return Object(delta ?? message ?? { content: text }) as Delta;
}

/** The details hold the reasoning as well, with its signatures. */
function buildExtra({
  reasoning,
  details,
  thought,
  additions,
}: {
  reasoning: string;
  details: object[];
  thought: string;
  additions: unknown[];
}): ReplyExtra | null {
  const extra: ReplyExtra = {
    ...(details.length > 0 ? { reasoning_details: details } : reasoning ? { reasoning_content: reasoning } : {}),
    ...(thought ? { thought } : {}),
    ...(additions.some((addition) => addition !== undefined)
      ? { calls: additions.map((addition) => (addition === undefined ? null : { extra_content: addition })) }
      : {}),
  };
  return Object.keys(extra).length > 0 ? extra : null;
}

/** Returns the pieces of calls in a delta, whatever holds them. */
function listParts({ tool_calls, function_call }: Delta): CallPart[] {
  const parts = Array.isArray(tool_calls) ? tool_calls : [tool_calls];
  return [...parts, function_call].filter((part): part is CallPart => typeof part === 'object' && part !== null);
}

const TEXTS = ['text', 'output_text', 'summary_text', 'reasoning_text'];

const listContent = (content: unknown): Part[] =>
  (Array.isArray(content) ? content : [content]).filter((part): part is Part => typeof part === 'object' && part !== null);

/** Some models send a part or a list of parts, of which the thinking is not part of the answer. */
const contentText = (content: unknown): string =>
  toText(content) ||
  listContent(content)
    .map(({ type = 'text', text }) => (TEXTS.includes(toText(type)) ? toText(text) : ''))
    .join('');

const deltaText = ({ content, refusal }: Delta): string => contentText(content ?? refusal);
const getReasoning = ({ reasoning_content, reasoning, reasoning_text, thinking, content }: Delta): string =>
  ([reasoning_content, reasoning, reasoning_text, thinking].map(toText).find((text) => text !== '') ?? '') +
  thinkingText(content);

/** Mistral and Databricks send the thinking as a part of the content that holds parts itself. */
const thinkingText = (content: unknown): string =>
  listContent(content)
    .map(({ type, thinking, reasoning, summary, text }) =>
      type === 'thinking' || type === 'reasoning' ? contentText(thinking ?? reasoning ?? summary ?? text) : '',
    )
    .join('');

const toJsonText = (value: unknown): string => (value ? jsonText(value) : '');

type Detail = Record<string, unknown>;
const JOINED = ['text', 'summary', 'data'];

/** Details arrive in pieces: those of one type and place that follow each other are one block. */
function detailGatherer() {
  const details: Detail[] = [];
  const add = (piece: Detail) => {
    const last = details.at(-1);
    if (!last || last.type !== piece.type || (last.index ?? 0) !== (piece.index ?? 0)) return void details.push({ ...piece });
    for (const [name, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue;
      last[name] = JOINED.includes(name) ? toText(last[name]) + toText(value) : value;
    }
  };
  return {
    add(pieces: unknown) {
      for (const piece of Array.isArray(pieces) ? pieces : []) if (typeof piece === 'object' && piece !== null) add(piece);
    },
    all: () => details,
    /** Returns what people may read of them. */
    text: () => details.map(({ text, summary }) => toText(text) || toText(summary)).join(''),
  };
}
