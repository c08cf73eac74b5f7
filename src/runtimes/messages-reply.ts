import type Anthropic from '@anthropic-ai/sdk';
import { answerTooLarge, jsonText, MOST_CALLS, REPLY_CHARACTERS, tokenCount, tooManyCalls } from '../domain/normalise.ts';
import { OutsideRefused } from '../domain/outside.ts';
import type { Answered, ExchangeUsage } from '../domain/usage.ts';
import type { MessagesExtra } from './messages-request.ts';
import type { Exchange, ModelReply } from './runtime.ts';
import { usableReply } from './usable-reply.ts';

/** Endpoints are typed by their documentation alone. */
type Loose<T> = { [K in keyof T]?: unknown };

export interface MessageEvent {
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
}

interface DeltaFields {
  type: string;
  text: string;
  partial_json: string;
  thinking: string;
  signature: string;
  stop_reason: string;
}

type Block = Record<'type' | 'id' | 'name' | 'arguments' | 'thinking' | 'signature' | 'data', string> & { input: unknown };

const FINISHES: Record<string, string> = {
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

const USAGE = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
/** Thinking, text and calls take turns, so an answer with all the calls that it may have has fewer. */
const MOST_BLOCKS = 4 * MOST_CALLS;
const TOO_MANY_BLOCKS = `The model's answer was broken off: more than ${MOST_BLOCKS} blocks`;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface MessageCollector {
  /** Throws if the reply becomes too large. */
  add(event: MessageEvent): void;
  /** Who answers and what the events so far cost; null before the first. */
  spent(): Answered | null;
  /** After the last event. Throws a ModelFailure if the result is not a usable answer. */
  reply(): ModelReply;
}

/**
 * Collects the events of a streamed message, and emits its text. The client could do so too, but it repairs arguments of calls that end
 * at the output limit, so that the call would be made with a part of them.
 */
export function collectMessage(emit: (delta: string) => void, report: Exchange['report'] = () => {}): MessageCollector {
  const blocks: Block[] = [];
  const open = new Map<unknown, Block>();
  let [text, stop_reason, begun, ended] = ['', '', false, false];
  let [characters, calls] = [0, 0];
  let model: string | null = null;
  const usage: Loose<Anthropic.Usage> = {};

  const counted = (piece: string): string => {
    characters += piece.length;
    if (characters > REPLY_CHARACTERS) throw answerTooLarge();
    return piece;
  };
  const say = (piece: string) => {
    if (piece === '') return;
    text += counted(piece);
    emit(piece);
  };
  // The end of a message reports the sums so far, but some endpoints only those that have changed.
  const charge = (more: Loose<Anthropic.Usage> | null | undefined) => {
    for (const field of USAGE) if (typeof more?.[field] === 'number') usage[field] = more[field];
  };

  function begin(index: unknown, start: Loose<BlockFields>): void {
    const { type, id, name, thinking, signature, data, input } = start;
    const block = {
      type: textOf(type),
      id: textOf(id),
      name: textOf(name),
      input,
      arguments: '',
      thinking: counted(textOf(thinking)),
      signature: counted(textOf(signature)),
      data: counted(textOf(data)),
    };
    blocks.push(block);
    open.set(index, block);
    if (block.type === 'tool_use') calls += 1;
    if (calls > MOST_CALLS) throw tooManyCalls();
    if (blocks.length > MOST_BLOCKS) throw new OutsideRefused(TOO_MANY_BLOCKS, 'model_answer_too_large');
    say(textOf(start.text));
  }

  function extend(block: Block | undefined, delta: Loose<DeltaFields>): void {
    say(textOf(delta.text));
    if (!block) return;
    block.arguments += counted(textOf(delta.partial_json));
    block.thinking += counted(textOf(delta.thinking));
    // Whole, unlike the others.
    block.signature = counted(textOf(delta.signature)) || block.signature;
  }

  return {
    add({ type, index, message, content_block, delta, usage: more }) {
      if (type === 'message_start') {
        begun = true;
        model = textOf(message?.model) || null;
        charge(message?.usage);
        report({ model, usage: usageOf(usage) });
      } else if (type === 'content_block_start') begin(index, content_block ?? {});
      else if (type === 'content_block_delta') extend(open.get(index), delta ?? {});
      else if (type === 'message_delta') {
        stop_reason = textOf(delta?.stop_reason) || stop_reason;
        charge(more);
        report({ model, usage: usageOf(usage) });
      } else if (type === 'message_stop') ended = true;
    },
    spent: () => (begun ? { model, usage: usageOf(usage) } : null),
    reply() {
      const finish = stop_reason || ended ? (FINISHES[stop_reason] ?? 'stop') : '';
      const made = blocks.flatMap(({ type, id, name, arguments: args, input }) =>
        type === 'tool_use' ? [{ id, name, arguments: args || wholeInput(input, { finish }) }] : [],
      );
      const extra = made.length > 0 ? extraOf(blocks) : null;
      const reply = { text, calls: made, finish, model, usage: usageOf(usage), extra };
      return usableReply(reply, 'raise max_output_tokens or lower the reasoning effort');
    },
  };
}

/** Every call begins with an empty object. At the output limit nobody knows whether it is whole. */
function wholeInput(input: unknown, { finish }: { finish: string }): string {
  const whole = jsonText(input ?? {});
  return finish === 'length' && whole === '{}' ? '' : whole;
}

/** Null without thinking: text and calls are on record. */
function extraOf(blocks: readonly Block[]): MessagesExtra | null {
  const kept = blocks.flatMap(({ type, thinking, signature, data }): MessagesExtra['blocks'] => {
    if (type === 'thinking') return [{ type, thinking, signature }];
    if (type === 'redacted_thinking') return [{ type, data }];
    return type === 'text' || type === 'tool_use' ? [{ type }] : [];
  });
  return kept.some(({ type }) => type !== 'text' && type !== 'tool_use') ? { blocks: kept } : null;
}

function usageOf(usage: Loose<Anthropic.Usage>): ExchangeUsage {
  const cache_read = tokenCount(usage.cache_read_input_tokens);
  const cache_write = tokenCount(usage.cache_creation_input_tokens);
  // The vendor counts cached tokens separately.
  const total_in = tokenCount(usage.input_tokens) + cache_read + cache_write;
  return { total_in, total_out: tokenCount(usage.output_tokens), cache_read, cache_write };
}
