import type Anthropic from '@anthropic-ai/sdk';
import { parseFinish } from '../domain/finish.ts';
import { answerTooLarge, jsonText, MOST_CALLS, REPLY_CHARACTERS, tokenCount, tooManyCalls, toText } from '../domain/normalise.ts';
import { OutsideRefused } from '../domain/outside.ts';
import { Misshapen } from '../domain/reason.ts';
import { type Answered, addExchangeUsage, type ExchangeUsage } from '../domain/usage.ts';
import type { BodyEnd } from './answer-body.ts';
import { type ArgumentPieces, collectArguments } from './call-arguments.ts';
import { isHostedResult, listHostedCalls, type ReplyBlock, toMessagesExtra, toSendable } from './messages-blocks.ts';
import type { Exchange, ModelReply } from './runtime.ts';
import { usableReply } from './usable-reply.ts';

/** Endpoints are typed by their documentation alone. */
type Loose<T> = { [K in keyof T]?: unknown };

interface MessageEvent {
  type?: unknown;
  index?: number;
  message?: Loose<Omit<Anthropic.Message, 'usage'>> & { usage?: Loose<Anthropic.Usage> | null };
  content_block?: Loose<BlockFields> | null;
  delta?: Loose<DeltaFields> | null;
  usage?: Loose<Anthropic.Usage> | null;
}

interface BlockFields {
  type: string;
  text: string;
  id: string;
  name: string;
  input: unknown;
  thinking: string;
  signature: string;
  data: string;
  citations: unknown;
  tool_use_id: string;
  content: unknown;
  caller: unknown;
}

interface DeltaFields {
  type: string;
  text: string;
  partial_json: string;
  thinking: string;
  signature: string;
  citation: unknown;
  stop_reason: string;
  container: unknown;
}

const USAGE = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
/** The limit for blocks. Thinking, text and calls alternate, so an answer with the largest number of calls has fewer. */
const MOST_BLOCKS = 4 * MOST_CALLS;
const TOO_MANY_BLOCKS = `The model's answer was broken off: more than ${MOST_BLOCKS} blocks`;

type PausedReply = Pick<ModelReply, 'text' | 'extra'>;

interface MessageCollector {
  /** Adds an event of a stream. Throws if the reply becomes too large. */
  add(event: object): void;
  /** Adds an answer that was sent at once. Throws if it is none. */
  addWhole(answer: object): void;
  /** Returns the answering model and the usage so far; null before the first event. */
  getUsage(): Answered | null;
  /** Returns, after the last event, the data that a paused vendor needs to continue its answer; null if it has not paused. */
  getPausedReply(): PausedReply | null;
  /** Returns the reply after the last event. Throws a ModelFailure if the result is not a usable answer. */
  reply(end: BodyEnd): ModelReply;
}

interface MessagePorts extends Pick<Exchange, 'report' | 'reportHidden'> {
  emit(delta: string): void;
}

/**
 * Collects the events of a streamed message, and emits its text. Messages after the first continue a paused one. The client could do so
 * too, but it repairs arguments of calls that end at the output limit, so that the call would be made with a part of them.
 */
export function collectMessage({ emit, report = () => {}, reportHidden = () => {} }: MessagePorts): MessageCollector {
  const blocks: ReplyBlock[] = [];
  const open = new Map<unknown, ReplyBlock>();
  const inputs = new Map<ReplyBlock, ArgumentPieces>();
  let [text, stop_reason, has_started, ended] = ['', '', false, false];
  let [characters, calls] = [0, 0];
  let model: string | null = null;
  let container: string | null = null;
  let before: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };
  let usage: Loose<Anthropic.Usage> = {};

  const countPiece = (piece: string): string => {
    characters += piece.length;
    if (characters > REPLY_CHARACTERS) throw answerTooLarge();
    return piece;
  };
  const hide = (piece: string): string => {
    if (piece !== '') reportHidden(countPiece(piece));
    return piece;
  };
  const takeValue = (value: unknown): unknown => {
    const sendable = toSendable(value);
    countPiece(JSON.stringify(sendable) ?? '');
    return sendable;
  };
  const say = (block: ReplyBlock | undefined, piece: string) => {
    if (piece === '') return;
    text += countPiece(piece);
    if (block) block.characters += piece.length;
    emit(piece);
  };
  // The end of a message reports the sums so far, but some endpoints only those that have changed.
  const charge = (more: Loose<Anthropic.Usage> | null | undefined) => {
    for (const field of USAGE) if (typeof more?.[field] === 'number') usage[field] = more[field];
    report(findUsage());
  };
  const findUsage = (): Answered => ({ model, usage: addExchangeUsage(before, toExchangeUsage(usage)) });
  const settle = (more: unknown) => {
    const { id } = (more ?? {}) as { id?: unknown };
    container = countPiece(toText(id)) || container;
  };

  function enter(message: MessageEvent['message']): void {
    before = findUsage().usage;
    [usage, has_started, ended, stop_reason] = [{}, true, false, ''];
    open.clear();
    model = toText(message?.model) || null;
    settle(message?.container);
    charge(message?.usage);
  }

  function begin(index: unknown, start: Loose<BlockFields>): void {
    const { type, id, name, thinking, signature, data, input, citations, tool_use_id, content, caller } = start;
    const block: ReplyBlock = {
      type: toText(type),
      id: toText(id),
      name: toText(name),
      input,
      arguments: '',
      thinking: hide(toText(thinking)),
      signature: countPiece(toText(signature)),
      data: hide(toText(data)),
      characters: 0,
      citations: Array.isArray(citations) ? (takeValue(citations) as unknown[]) : [],
      tool_use_id: countPiece(toText(tool_use_id)),
      content: isHostedResult(start) ? takeValue(content) : null,
      caller: takeValue(caller),
    };
    countPiece(block.type + block.id);
    hide(block.name);
    blocks.push(block);
    inputs.set(block, collectArguments());
    open.set(index, block);
    if (block.type === 'tool_use' || block.type === 'server_tool_use') calls += 1;
    if (calls > MOST_CALLS) throw tooManyCalls();
    if (blocks.length > MOST_BLOCKS) throw new OutsideRefused(TOO_MANY_BLOCKS, 'model_answer_too_large');
    say(block, toText(start.text));
  }

  function extend(block: ReplyBlock | undefined, delta: Loose<DeltaFields>): void {
    say(block, toText(delta.text));
    if (!block) return;
    inputs.get(block)?.add(hide(toText(delta.partial_json)));
    block.thinking += hide(toText(delta.thinking));
    // The signature arrives whole, unlike the others.
    block.signature = countPiece(toText(delta.signature)) || block.signature;
    if (delta.citation) block.citations.push(takeValue(delta.citation));
  }

  const getFinish = () => parseFinish(stop_reason) || (ended ? 'stop' : '');
  const whole = (): ReplyBlock[] =>
    blocks.map((block) => ({
      ...block,
      arguments: inputs.get(block)?.text() || wholeInput(block.input, { finish: getFinish() }),
    }));

  function add({ type, index, message, content_block, delta, usage: more }: MessageEvent): void {
    if (type === 'message_start') enter(message);
    else if (type === 'content_block_start') begin(index, content_block ?? {});
    else if (type === 'content_block_delta') extend(open.get(index), delta ?? {});
    else if (type === 'message_delta') {
      stop_reason = toText(delta?.stop_reason) || stop_reason;
      settle(delta?.container);
      charge(more);
    } else if (type === 'message_stop') ended = true;
  }

  return {
    add,
    addWhole(answer) {
      for (const event of toMessageEvents(answer)) add(event);
    },
    getUsage: () => (has_started ? findUsage() : null),
    getPausedReply: () =>
      stop_reason === 'pause_turn' && !blocks.some(({ type }) => type === 'tool_use')
        ? { text, extra: toMessagesExtra(whole(), container) }
        : null,
    reply(end) {
      const all = whole();
      const tool_calls = all.flatMap(({ type, id, name, arguments: args }) =>
        type === 'tool_use' ? [{ id, name, arguments: args }] : [],
      );
      const made_there = listHostedCalls(all);
      const reasoning = all.flatMap(({ thinking }) => (thinking === '' ? [] : [thinking])).join('\n\n');
      const reply: ModelReply = {
        text,
        ...(reasoning === '' ? {} : { reasoning }),
        calls: tool_calls,
        finish: getFinish(),
        ...findUsage(),
        extra: toMessagesExtra(all, container),
        ...(made_there.length > 0 ? { made_there } : {}),
      };
      const advice = 'raise max_output_tokens or lower the reasoning effort';
      return usableReply(reply, { end, finish_word: stop_reason, is_whole: false, advice });
    },
  };
}

/** Converts an answer that was sent at once into the events of a stream. */
function toMessageEvents(answer: object): MessageEvent[] {
  const { content, stop_reason } = answer as Loose<Anthropic.Message>;
  if (!Array.isArray(content)) throw new Misshapen('the answer has no content');
  return [
    { type: 'message_start', message: answer },
    ...content.map((content_block, index) => ({ type: 'content_block_start', index, content_block })),
    { type: 'message_delta', delta: { stop_reason } },
    { type: 'message_stop' },
  ];
}

/**
 * Returns a call's input as text. Every call begins with an empty object, so at the output limit it is unknown if the input is
 * whole.
 */
function wholeInput(input: unknown, { finish }: { finish: string }): string {
  const whole = jsonText(input ?? {});
  return finish === 'length' && whole === '{}' ? '' : whole;
}

function toExchangeUsage(usage: Loose<Anthropic.Usage>): ExchangeUsage {
  const cache_read = tokenCount(usage.cache_read_input_tokens);
  const cache_write = tokenCount(usage.cache_creation_input_tokens);
  // The vendor counts cached tokens separately.
  const total_in = tokenCount(usage.input_tokens) + cache_read + cache_write;
  return { total_in, total_out: tokenCount(usage.output_tokens), cache_read, cache_write };
}
