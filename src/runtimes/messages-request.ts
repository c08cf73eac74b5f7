import type Anthropic from '@anthropic-ai/sdk';
import { isImage, type ModelFile } from '../domain/attachments.ts';
import { parseExact } from '../domain/exact-json.ts';
import { isTooDeepText } from '../domain/normalise.ts';
import { isRecord } from '../domain/records.ts';
import { divideSettings } from '../domain/sent-settings.ts';
import type { SentMessage, TranscriptMessage } from '../domain/transcript.ts';
import {
  findResendableCalls,
  isHostedResult,
  isHostedUse,
  listKeptBlocks,
  type MessagesExtra,
  textParts,
} from './messages-blocks.ts';
import type { Exchange } from './runtime.ts';
import { toVendorEffort } from './vendor-effort.ts';

type Block = Anthropic.ContentBlockParam;
type Turn = { role: 'user' | 'assistant'; content: Block[] };
type Request = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>;

/** The vendor requires a limit. */
const MOST_TOKENS = 8_192;

/** An exchange as a request of the Messages API. */
export function messagesRequest(
  { instructions, transcript, tools, reasoning_effort, must_call = false, call_settings = {}, hosted_tools = [] }: Exchange,
  model: string,
): Request {
  const { temperature, top_p, max_output_tokens, stop } = divideSettings(call_settings, { model }).sent;
  const effort = toVendorEffort(reasoning_effort);
  // A run without tools sends only its instructions twice.
  const all_tools = [...hosted_tools.map((tool) => tool as object as Anthropic.ToolUnion), ...tools.map(toVendorTool)];
  const continues = all_tools.length > 0 || transcript.some(({ role }) => role === 'assistant');
  return {
    model,
    max_tokens: max_output_tokens ?? MOST_TOKENS,
    ...(instructions ? { system: [{ type: 'text' as const, text: instructions, ...CACHED }] } : {}),
    messages: toTurns(transcript, { kept: continues ? KEPT_TURNS : 0, hosted: hosted_tools.length > 0 }),
    ...(all_tools.length > 0
      ? { tools: instructions ? all_tools : all_tools.with(-1, { ...all_tools.at(-1)!, ...CACHED }) }
      : {}),
    ...(hosted_tools.length > 0 ? findContainer(transcript) : {}),
    // The vendor refuses a forced call of a model that thinks.
    ...(effort && !must_call ? { thinking: { type: 'adaptive' as const } } : {}),
    ...(effort ? { output_config: { effort } } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(all_tools.length > 0 ? toToolChoice(tools, { must_call, ...call_settings }) : withoutTools(transcript)),
  };
}

const toVendorTool = ({ name, description, parameters }: Exchange['tools'][number]): Anthropic.Tool => ({
  name,
  description: description || name,
  input_schema: { ...parameters, type: 'object' as const },
});

/**
 * Returns what a request without tools needs. The Messages API has refused earlier calls in a request that defines no tools, and services
 * that pass it on to Amazon Bedrock still do.
 */
const withoutTools = (transcript: readonly TranscriptMessage[]): Pick<Request, 'tools' | 'tool_choice'> =>
  transcript.some(({ tool_calls }) => tool_calls?.length) ? { tools: [NO_TOOL], tool_choice: { type: 'none' } } : {};

const NO_TOOL: Anthropic.Tool = {
  name: 'no_tool',
  description: 'No tool can be called in this request.',
  input_schema: { type: 'object' },
};

/**
 * Returns the container of the last reply of the turn: code continues in the place where it ran before. That of an earlier turn may have
 * expired, and the vendor would refuse the request.
 */
function findContainer(transcript: readonly TranscriptMessage[]): Pick<Request, 'container'> {
  const last = transcript.findLast(({ role }) => role === 'assistant');
  const { container } = (last?.extra ?? {}) as Partial<MessagesExtra>;
  return typeof container === 'string' && last?.turn === transcript.at(-1)?.turn ? { container } : {};
}

interface Choice {
  must_call: boolean;
  parallel_tool_calls?: boolean;
}

function toToolChoice(
  [first, ...others]: Exchange['tools'],
  { must_call, parallel_tool_calls: parallel }: Choice,
): Pick<Request, 'tool_choice'> {
  const rule = parallel === undefined ? {} : { disable_parallel_tool_use: !parallel };
  if (must_call && others.length === 0) return { tool_choice: { type: 'tool', name: first!.name, ...rule } };
  if (must_call) return { tool_choice: { type: 'any', ...rule } };
  return parallel === undefined ? {} : { tool_choice: { type: 'auto', ...rule } };
}

/**
 * Marks a cache position. The vendor keeps the request up to there for some minutes: tools first, then the system prompt, then
 * the messages.
 */
const CACHED = { cache_control: { type: 'ephemeral' as const } };

/**
 * The number of turns that the vendor is asked to keep: the last one, and the one kept at the last request, in case many followed
 * it.
 */
const KEPT_TURNS = 2;

/** Marks the last block of a turn. */
const withBreakpoint = (content: Block[]): Block[] => content.with(-1, { ...content.at(-1), ...CACHED } as Block);

interface SentTurns {
  /** The number of turns that the vendor is asked to keep. */
  kept: number;
  /** True if tools of the vendor are offered. */
  hosted: boolean;
}

/** Roles take turns, and results must be the first of what follows their calls: neighbours of one role become one message. */
function toTurns(transcript: readonly SentMessage[], { kept, hosted }: SentTurns): Anthropic.MessageParam[] {
  const calls = { called: collectCallIds(transcript), made_there: findResendableCalls(transcript, { offered: hosted }) };
  const turns: Turn[] = [];
  for (const message of transcript) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = toBlocks(message, calls);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  const marked_turns = kept > 0 ? turns.filter(({ role }) => role === 'user').slice(-kept) : [];
  return turns.map((turn) => ({
    role: turn.role,
    content: marked_turns.includes(turn) ? withBreakpoint(turn.content) : simplifyContent(turn.content),
  }));
}

/** Returns a single text as it is, without a list. */
const simplifyContent = (content: Block[]): string | Block[] =>
  content.length === 1 && content[0]?.type === 'text' ? content[0].text : content;

const collectCallIds = (transcript: readonly TranscriptMessage[]) =>
  new Set(transcript.flatMap(({ tool_calls }) => tool_calls?.map(({ call_id }) => call_id) ?? []));

function toBlocks(message: SentMessage, { called, made_there }: Record<'called' | 'made_there', ReadonlySet<string>>): Block[] {
  const { role, kind, content, call_id, files = [] } = message;
  if (role === 'assistant') return replyBlocks(message, made_there);
  if (role !== 'tool') return [...files.map(fileBlock), ...textBlock({ text: content })];
  // A chat has no tools, and a result without its call is refused.
  if (!call_id || !called.has(call_id)) return [];
  const text = content || '(no content)';
  const images = files.filter(isImage).map(imageBlock);
  const shown = images.length > 0 ? [{ type: 'text' as const, text }, ...images] : text;
  return [{ type: 'tool_result', tool_use_id: call_id, content: shown, is_error: kind === 'denial' }];
}

/** The vendor advises to put files before the text that is about them. */
function fileBlock(file: ModelFile): Block {
  const { data, name: title } = file;
  if (isImage(file)) return imageBlock(file);
  return { type: 'document', title, source: { type: 'base64', media_type: 'application/pdf', data } };
}

const imageBlock = ({ media_type, data }: ModelFile): Anthropic.ImageBlockParam => ({
  type: 'image',
  source: { type: 'base64', media_type: media_type as Anthropic.Base64ImageSource['media_type'], data },
});

/** The vendor refuses a text without letters. */
const textBlock = (part: ReturnType<typeof textParts>[number]): Block[] =>
  part.text.trim() === '' ? [] : [{ type: 'text', ...part } as object as Block];

function replyBlocks(message: TranscriptMessage, made_there: ReadonlySet<string>): Block[] {
  const { content, tool_calls } = message;
  const kept_blocks = listKeptBlocks(message);
  const texts = textParts(content, kept_blocks);
  const calls = (tool_calls ?? []).map(
    ({ call_id, name, arguments: args }): Block => ({
      type: 'tool_use',
      id: call_id,
      name: name || 'unnamed',
      input: parseInput(args),
    }),
  );
  const ordered_blocks = kept_blocks.flatMap((block): Block[] => {
    if (block.type === 'text') return texts.splice(0, 1).flatMap(textBlock);
    if (block.type === 'tool_use') return calls.splice(0, 1);
    if (isHostedUse(block)) {
      const { arguments: args, ...use } = block;
      return made_there.has(use.id) ? [{ ...use, input: parseInput(args) } as object as Block] : [];
    }
    return isHostedResult(block) && !made_there.has(block.tool_use_id) ? [] : [block as object as Block];
  });
  return [...ordered_blocks, ...texts.flatMap(textBlock), ...calls];
}

/** The vendor takes objects only. */
function parseInput(args: string): unknown {
  if (args.trim() === '') return {};
  try {
    const value = isTooDeepText(args) ? null : parseExact(args);
    if (isRecord(value)) return value;
  } catch {
    // Reported to the model with the result of the call.
  }
  return { not_valid_json: args };
}
