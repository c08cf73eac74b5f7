import type OpenAI from 'openai';
import { answerTooLarge, jsonText, MOST_CALLS, REPLY_CHARACTERS, tokenCount, tooManyCalls } from '../domain/normalise.ts';
import type { ExchangeUsage } from '../domain/usage.ts';
import type { Exchange, ModelReply } from './runtime.ts';
import { usableReply } from './usable-reply.ts';

export type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;
type Delta = Chunk['choices'][number]['delta'] & {
  reasoning_content?: unknown;
  reasoning?: unknown;
  reasoning_details?: unknown;
};
type CallPart = NonNullable<Delta['tool_calls']>[number] & { extra_content?: unknown };

/** The data that goes back with a reply: reasoning, and the endpoint's additions to each call, in the order of the calls. */
export interface ReplyExtra {
  reasoning_content?: string;
  reasoning_details?: object[];
  calls?: ({ extra_content: unknown } | null)[];
}

interface ReplyCollector {
  /** Throws if the reply becomes too large. */
  add(chunk: Chunk): void;
  /** Returns the reply after the last chunk. Throws a ModelFailure if the result is not a usable answer. */
  reply(): ModelReply;
}

/** Collects the chunks of a streamed reply, and emits its text. */
export function collectReply(emit: (delta: string) => void, report: Exchange['report'] = () => {}): ReplyCollector {
  const reply: ModelReply = { text: '', calls: [], finish: '', model: null, usage: NO_USAGE, extra: null };
  const calls = callGatherer();
  let reasoning = '';
  const details = detailGatherer();
  let has_refused = false;
  let characters = 0;
  // After the text of the chunk, which it includes.
  const reportUsage = ({ usage }: Chunk) => {
    if (usage) report({ model: reply.model, usage: reply.usage });
  };
  return {
    add(chunk) {
      reply.model ??= toText(chunk.model) || null;
      const [choice] = chunk.choices ?? [];
      if (chunk.usage) reply.usage = toExchangeUsage(chunk.usage);
      if (!choice) return reportUsage(chunk);
      const delta = (choice.delta ?? {}) as Delta;
      const text = deltaText(delta);
      if (text) {
        reply.text += text;
        emit(text);
      }
      reportUsage(chunk);
      has_refused ||= Boolean(delta.refusal);
      reasoning += getReasoning(delta);
      details.add(delta.reasoning_details);
      for (const part of delta.tool_calls ?? []) calls.add(part);
      characters += measureDelta(delta, text);
      if (characters > REPLY_CHARACTERS) throw answerTooLarge();
      reply.finish = toText(choice.finish_reason) || reply.finish;
    },
    reply() {
      reply.calls = calls.all();
      if (has_refused && reply.finish === 'stop') reply.finish = 'refusal';
      reply.extra = reply.calls.length > 0 ? buildExtra({ reasoning, details: details.all(), parts: calls.parts() }) : null;
      return usableReply(reply, 'lower the reasoning effort or shorten the input');
    },
  };
}

/** The details hold the reasoning as well, with its signatures. */
function buildExtra({
  reasoning,
  details,
  parts,
}: {
  reasoning: string;
  details: object[];
  parts: unknown[];
}): ReplyExtra | null {
  const extra: ReplyExtra = {
    ...(details.length > 0 ? { reasoning_details: details } : reasoning ? { reasoning_content: reasoning } : {}),
    ...(parts.some((part) => part !== undefined)
      ? { calls: parts.map((part) => (part === undefined ? null : { extra_content: part })) }
      : {}),
  };
  return Object.keys(extra).length > 0 ? extra : null;
}

/** Endpoints are typed by their documentation alone. */
const toText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Some models send a list of parts, of which the thinking is not part of the answer. */
const contentText = (content: unknown): string =>
  Array.isArray(content) ? content.map((part) => (part?.type === 'text' ? toText(part.text) : '')).join('') : toText(content);

const deltaText = ({ content, refusal }: Delta): string => contentText(content ?? refusal);
const getReasoning = ({ reasoning_content, reasoning }: Delta): string => toText(reasoning_content ?? reasoning);

function measureDelta(delta: Delta, text: string): number {
  const call_characters = (delta.tool_calls ?? []).reduce(
    (sum, { function: it, ...part }) =>
      sum + measureText(it?.arguments) + measureText(it?.name) + measureValue((part as CallPart).extra_content),
    0,
  );
  return text.length + getReasoning(delta).length + measureValue(delta.reasoning_details) + call_characters;
}

const measureText = (value: unknown): number => toText(value).length;
const measureValue = (value: unknown): number => (value ? jsonText(value).length : 0);

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
  };
}

/** Calls arrive in pieces, matched by index; a piece with another id at the same index starts another call. */
function callGatherer() {
  const calls: ModelReply['calls'] = [];
  const extras = new Map<ModelReply['calls'][number], unknown>();
  const open = new Map<number, ModelReply['calls'][number]>();
  return {
    add({ index, id, function: piece, extra_content }: CallPart) {
      const place = index ?? Math.max(0, open.size - 1);
      let call = open.get(place);
      if (!call || (id && call.id && call.id !== id)) {
        if (calls.length >= MOST_CALLS) throw tooManyCalls();
        call = { id: '', name: '', arguments: '' };
        calls.push(call);
        open.set(place, call);
      }
      call.id ||= toText(id);
      call.name += toText(piece?.name);
      // Some endpoints send an object instead of its text.
      call.arguments += jsonText(piece?.arguments);
      if (extra_content) extras.set(call, extra_content);
    },
    all: () => calls,
    parts: () => calls.map((call) => extras.get(call)),
  };
}

const NO_USAGE: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };

function toExchangeUsage(usage: NonNullable<Chunk['usage']>): ExchangeUsage {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, prompt_cache_hit_tokens } = usage as typeof usage & {
    prompt_cache_hit_tokens?: number;
  };
  const details = prompt_tokens_details as { cached_tokens?: number; cache_write_tokens?: number } | undefined;
  const total_in = tokenCount(prompt_tokens);
  const cache_read = Math.min(total_in, tokenCount(details?.cached_tokens ?? prompt_cache_hit_tokens));
  return {
    total_in,
    total_out: tokenCount(completion_tokens),
    cache_read,
    cache_write: Math.min(total_in - cache_read, tokenCount(details?.cache_write_tokens)),
  };
}
