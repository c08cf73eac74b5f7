import type { UiChatRequest } from '../../../contracts/front-ends.ts';
import { isRecord } from '../../../domain/records.ts';
import { parseCallId } from '../call-ids.ts';
import { type CallAnswer, checkContent, createCommandRefusal, type FrontEndCommand, parseFile, toDecision } from '../commands.ts';
import { parseClientTools } from '../openai/client-tools.ts';

type Message = UiChatRequest['messages'][number];
type Part = Message['parts'][number];

interface PlacedMessage {
  message: Message;
  path: string;
}

/** Returns what a request of `useChat` asks for. */
export function parseUiCommand({ messages, trigger, messageId: message_id, tools, when_busy }: UiChatRequest): FrontEndCommand {
  if (trigger === 'regenerate-message') {
    const answer_before = findAnswerBefore(
      messages,
      messages.findLastIndex(({ role }) => role === 'user'),
    );
    return { kind: 'regenerate', message_id: message_id ?? null, answer_before, when_busy };
  }
  const at = message_id === undefined ? messages.length - 1 : messages.findLastIndex(({ id }) => id === message_id);
  const message = messages[at];
  if (!message)
    throw createCommandRefusal(
      message_id === undefined ? 'messages' : 'messageId',
      message_id === undefined ? 'Send at least the last message' : `No message of the request has the id ${message_id}`,
    );
  const placed = { message, path: `messages.${at}` };
  if (message.role === 'user')
    return {
      kind: 'message',
      message: parseUserMessage(placed),
      replaces: message_id === undefined ? null : message.id,
      answer_before: findAnswerBefore(messages, at),
      when_busy,
      client_tools: parseClientTools(
        tools.map((tool) => ({ type: 'function', ...tool })),
        undefined,
      ),
    };
  if (message.role === 'assistant') return parseAnswers(placed);
  throw createCommandRefusal(placed.path, 'Instructions belong to the agent; a message of the role system is not accepted');
}

/** Returns the id of the last answer before a message; null: there is none. */
const findAnswerBefore = (messages: readonly Message[], at: number): string | null =>
  messages.slice(0, Math.max(at, 0)).findLast(({ role }) => role === 'assistant')?.id ?? null;

const toText = (value: unknown) => (typeof value === 'string' ? value : undefined);

function parseUserMessage({ message: { id, parts }, path }: PlacedMessage) {
  const placed = parts.map((part, index) => ({ part, path: `${path}.parts.${index}` }));
  const odd = placed.find(({ part }) => part.type !== 'text' && part.type !== 'file');
  if (odd)
    throw createCommandRefusal(
      odd.path,
      `A message of the user has texts and files, and no part of the type ${odd.part.type.slice(0, 100)}`,
    );
  const texts = placed.filter(({ part }) => part.type === 'text').map(({ part }) => toText(part.text) ?? '');
  const files = placed
    .filter(({ part }) => part.type === 'file')
    .map(({ part: { url, filename, mediaType }, path: at }) =>
      parseFile({ url: toText(url) ?? '', name: toText(filename), media_type: toText(mediaType) }, `${at}.url`),
    );
  return checkContent({ id, text: texts.join('\n\n'), files }, path);
}

/** Returns the approvals of an answer, and the results of the calls of its last step that the client has executed. */
function parseAnswers({ message: { parts, metadata }, path }: PlacedMessage): FrontEndCommand {
  const last_step = parts.findLastIndex(({ type }) => type === 'step-start');
  const answers = parts.flatMap((part, index) => {
    const approval = parseApproval(part);
    const answer = approval ?? (index > last_step ? parseResult(part) : null);
    return answer ? [toOwnAnswer(part, answer, `${path}.parts.${index}`)] : [];
  });
  const after = isRecord(metadata) ? metadata.event : undefined;
  if (answers.length > 0 && !(typeof after === 'number' && Number.isSafeInteger(after)))
    throw createCommandRefusal(
      `${path}.metadata`,
      'Send the message of the assistant with its metadata: `event` is where its stream continues',
    );
  return toDecision(answers, { after: (after as number) ?? null, path });
}

type Unplaced<A> = A extends unknown ? Omit<A, 'call_id'> : never;

function parseApproval({ state, approval }: Part): Unplaced<CallAnswer> | null {
  if (state !== 'approval-responded' || !isRecord(approval)) return null;
  return { kind: 'approval', approved: approval.approved === true, message: toText(approval.reason) };
}

function parseResult({ state, providerExecuted, output, errorText }: Part): Unplaced<CallAnswer> | null {
  if (providerExecuted === true) return null;
  if (state === 'output-available') return { kind: 'result', result: output, failed: false };
  return state === 'output-error' ? { kind: 'result', result: errorText, failed: true } : null;
}

function toOwnAnswer({ toolCallId }: Part, answer: Unplaced<CallAnswer>, path: string) {
  const place = parseCallId(String(toolCallId));
  if (!place) throw createCommandRefusal(path, `No call with id ${String(toolCallId).slice(0, 100)}`);
  return { task_id: place.task_id, answer: { ...answer, call_id: place.call_id } as CallAnswer };
}
