import type Anthropic from '@anthropic-ai/sdk';
import { toDoubles } from '../domain/exact-json.ts';
import { DEEPEST, isTooDeep } from '../domain/normalise.ts';
import { OutsideRefused } from '../domain/outside.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { CallMadeThere } from './runtime.ts';

/** A block of a reply, with all that its deltas have added. */
export type ReplyBlock = Record<
  'type' | 'id' | 'name' | 'arguments' | 'thinking' | 'signature' | 'data' | 'tool_use_id',
  string
> & {
  input: unknown;
  /** The length of the block's text. */
  characters: number;
  citations: unknown[];
  /** The result of a vendor's tool. */
  content: unknown;
  /** The caller of a vendor's tool, if the model did not call it. */
  caller: unknown;
};

/**
 * The data that goes back with a reply: the blocks that Perdura has no format for, unchanged, and the positions of the text and
 * the calls among them.
 */
export interface MessagesExtra {
  blocks: KeptBlock[];
  /** The vendor's container that ran code for this reply. */
  container?: string;
}

type Caller = { caller?: unknown };
type HostedUse = { type: 'server_tool_use'; id: string; name: string; arguments: string } & Caller;
type HostedResult = { type: string; tool_use_id: string; content: unknown } & Caller;

type KeptBlock =
  | Anthropic.ThinkingBlock
  | Anthropic.RedactedThinkingBlock
  /** A part of the recorded text; without a length, the whole of it. */
  | { type: 'text'; characters?: number; citations?: unknown[] }
  | { type: 'tool_use' }
  | HostedUse
  | HostedResult;

/** True for a result of a vendor's tool, such as `web_search_tool_result`. */
export const isHostedResult = (block: { type?: unknown; tool_use_id?: unknown }): block is HostedResult =>
  typeof block.type === 'string' && /^\w+_tool_result$/.test(block.type) && typeof block.tool_use_id === 'string';

export const isHostedUse = (block: KeptBlock): block is HostedUse => block.type === 'server_tool_use' && 'id' in block;

/** A value of an endpoint that is sent back as it is. Throws for one that is nested too deep. */
export function toSendable(value: unknown): unknown {
  if (isTooDeep(value))
    throw new OutsideRefused(`A part of the model's answer is nested deeper than ${DEEPEST} levels`, 'model_answer_too_large');
  return toDoubles(value);
}

/** Returns the blocks to keep; null if the recorded text and calls are all that the next request needs. */
export function toMessagesExtra(blocks: readonly ReplyBlock[], container: string | null): MessagesExtra | null {
  const has_hosted = blocks.some((block) => block.type === 'server_tool_use' || isHostedResult(block));
  const has_calls = blocks.some(({ type }) => type === 'tool_use');
  const thought = blocks.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');
  if (!has_hosted && !(has_calls && thought)) return null;
  const kept_blocks = blocks.flatMap((block): KeptBlock[] => {
    const { type, id, name, arguments: args, thinking, signature, data, characters, citations, tool_use_id, content } = block;
    const caller = block.caller ? { caller: block.caller } : {};
    if (type === 'thinking') return [{ type, thinking, signature }];
    if (type === 'redacted_thinking') return [{ type, data }];
    if (type === 'server_tool_use') return [{ type, id, name, arguments: args, ...caller }];
    if (isHostedResult(block)) return [{ type, tool_use_id, content, ...caller }];
    if (type === 'text') return [{ type, ...(has_hosted ? { characters } : {}), ...(citations.length > 0 ? { citations } : {}) }];
    return type === 'tool_use' ? [{ type }] : [];
  });
  return { blocks: kept_blocks, ...(container ? { container } : {}) };
}

/** Returns the calls that the vendor itself made for a reply, in a readable form. */
export const listHostedCalls = (blocks: readonly ReplyBlock[]): CallMadeThere[] =>
  blocks.flatMap(({ type, id, name, arguments: args }) => {
    if (type !== 'server_tool_use') return [];
    const result = blocks.find((block) => isHostedResult(block) && block.tool_use_id === id);
    return [{ id, name, arguments: args, result: result ? toReadableResult(result.content) : null }];
  });

/** Leaves out the content that only the vendor can read. */
const toReadableResult = (content: unknown): CallMadeThere['result'] => ({
  content: JSON.stringify(content, (key, value) => (key.startsWith('encrypted_') ? undefined : value)) ?? '',
  failed: String((content as { type?: unknown } | null)?.type).endsWith('_error'),
});

/**
 * Returns the parts of a recorded text in order. Returns the text as one part if the parts do not match it: a guardrail may have
 * changed it.
 */
export function textParts(content: string, blocks: readonly KeptBlock[]): { text: string; citations?: unknown[] }[] {
  let at = 0;
  const parts = blocks.flatMap((block) => {
    if (block.type !== 'text' || !('characters' in block) || typeof block.characters !== 'number') return [];
    const text = content.slice(at, at + block.characters);
    at += block.characters;
    return [{ text, ...(block.citations ? { citations: block.citations } : {}) }];
  });
  return at === content.length && parts.every(({ text }) => text.isWellFormed()) ? parts : [{ text: content }];
}

/** Returns the blocks to send back. The vendor does not want signed thinking without calls back. */
export const listKeptBlocks = ({ role, extra, tool_calls }: TranscriptMessage): readonly KeptBlock[] => {
  const { blocks } = (extra ?? {}) as Partial<MessagesExtra>;
  if (role !== 'assistant' || !Array.isArray(blocks)) return [];
  return tool_calls?.length || blocks.some((block) => isHostedUse(block) || isHostedResult(block)) ? blocks : [];
};

/**
 * Returns the ids of the vendor's tool calls that can be sent again: those with a result and, if the vendor is still `offered`
 * its tools, those of the last reply that it has yet to make in this turn.
 */
export function findResendableCalls(
  transcript: readonly TranscriptMessage[],
  { offered }: { offered: boolean },
): ReadonlySet<string> {
  const kept_blocks = transcript.flatMap(listKeptBlocks);
  const use_ids = new Set(kept_blocks.filter(isHostedUse).map(({ id }) => id));
  const answered_ids = kept_blocks.flatMap((block) =>
    isHostedResult(block) && use_ids.has(block.tool_use_id) ? [block.tool_use_id] : [],
  );
  const last = transcript.findLast(({ role }) => role === 'assistant');
  const end = transcript.at(-1);
  const is_open = last?.turn === end?.turn && (last === end || last?.tool_calls?.length);
  const open = offered && last && is_open ? listKeptBlocks(last) : [];
  return new Set([...answered_ids, ...open.filter(isHostedUse).map(({ id }) => id)]);
}
