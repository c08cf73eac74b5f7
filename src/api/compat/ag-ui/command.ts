import { AgUiMessageContent, type AgUiRunInput } from '../../../contracts/front-ends.ts';
import { WHEN_BUSY } from '../../../contracts/thread-messages.ts';
import { ANSWER_ACTIONS, type Answer } from '../../../domain/questions.ts';
import { isRecord } from '../../../domain/records.ts';
import { isUuid } from '../../../domain/uuid.ts';
import { parseCallId } from '../call-ids.ts';
import {
  type CallAnswer,
  checkContent,
  createCommandRefusal,
  type FrontEndCommand,
  isPromptId,
  parseFile,
  parseTurnId,
  toDecision,
  type WhenBusy,
} from '../commands.ts';
import { extractText, parseClientTools } from '../openai/client-tools.ts';

type Message = AgUiRunInput['messages'][number];
type Entry = NonNullable<AgUiRunInput['resume']>[number];
interface OwnAnswer {
  task_id: string;
  answer: CallAnswer;
}

/** Returns what a request of an AG-UI client asks for. */
export function parseAgUiCommand({ messages, tools, context, resume = [], forwardedProps }: AgUiRunInput): FrontEndCommand {
  const answers = [...resume.map(parseEntry), ...listResults(messages)];
  if (answers.length > 0) return toDecision(answers, { after: null, path: 'resume' });
  const at = messages.length - 1;
  const last = messages[at];
  if (last?.role !== 'user')
    throw createCommandRefusal(
      'messages',
      'The last message has to be one of the user, or the results of the calls that the client has executed',
    );
  const message = parseUserMessage(last, `messages.${at}`);
  const functions = tools.map((tool) => ({ type: 'function', ...tool }));
  return {
    kind: 'message',
    message,
    replaces: isPromptId(last.id) ? last.id : null,
    answer_before: null,
    follows: findFollowed(messages.slice(0, at)),
    when_busy: parseWhenBusy(forwardedProps),
    client_tools: parseClientTools(functions, undefined),
    context,
  };
}

/** True if a request answers what a run waits for, so that it sends no message. */
export const answersRun = ({ resume = [], messages }: AgUiRunInput): boolean =>
  resume.length > 0 || listResults(messages).length > 0;

/** Names the fields of a request that have content, and that Perdura does not use. */
export function listUnusedFields({ state, forwardedProps }: AgUiRunInput): string[] {
  const { when_busy: _, ...props } = isRecord(forwardedProps) ? forwardedProps : {};
  const forwarded = isRecord(forwardedProps)
    ? Object.entries(props).map(([name, value]) => [`forwardedProps.${name}`, value])
    : [['forwardedProps', forwardedProps]];
  return [['state', state], ...forwarded].flatMap(([name, value]) => (isEmpty(value) ? [] : [name as string]));
}

function parseWhenBusy(forwardedProps: unknown): WhenBusy | undefined {
  const when_busy = isRecord(forwardedProps) ? forwardedProps.when_busy : undefined;
  const known = WHEN_BUSY.find((one) => one === when_busy);
  if (!known && when_busy !== undefined && when_busy !== null)
    throw createCommandRefusal('forwardedProps.when_busy', `Send one of ${WHEN_BUSY.join(', ')}`);
  return known;
}

/**
 * Returns the id of the last of these messages, if Perdura gave it. The ids of pages are not on record: after a message of the page whose
 * answer it does not have, nothing shows which turn it belongs to.
 */
function findFollowed(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(({ id, role }) => role === 'user' || parseTurnId(id) !== null);
  return last && parseTurnId(last.id) !== null ? last.id : undefined;
}

const isEmpty = (value: unknown) => value === undefined || value === null || (isRecord(value) && Object.keys(value).length === 0);

/** Lists the results at the end of the messages whose calls are of this installation. */
function listResults(messages: readonly Message[]): OwnAnswer[] {
  const trailing = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1);
  return trailing.flatMap(({ toolCallId, content, error }) => {
    const place = parseCallId(String(toolCallId));
    if (!place) return [];
    const failed = typeof error === 'string' && error !== '';
    const result = failed ? error : extractText(content);
    return [{ task_id: place.task_id, answer: { kind: 'result', call_id: place.call_id, result, failed } }];
  });
}

function parseUserMessage({ id, content }: Message, path: string) {
  const { success, data } = AgUiMessageContent.safeParse(content);
  if (!success) throw createCommandRefusal(path, 'The content of a message is a text, or a list of parts');
  const parts = typeof data === 'string' ? [{ type: 'text', text: data }] : data;
  const texts = parts.filter(({ type }) => type === 'text');
  const files = parts.flatMap((part, index) => (part.type === 'text' ? [] : [parsePart(part, `${path}.content.${index}`)]));
  return checkContent({ id, text: extractText(texts), files }, path);
}

const MEDIA = ['image', 'audio', 'video', 'document'];

function parsePart({ type, source }: Record<string, unknown>, path: string) {
  if (!MEDIA.includes(String(type)) || !isRecord(source))
    throw createCommandRefusal(
      path,
      `A message of the user has texts and files, and no part of the type ${String(type).slice(0, 100)}`,
    );
  const media_type = typeof source.mimeType === 'string' ? source.mimeType : undefined;
  const value = String(source.value);
  const url = source.type === 'data' ? `data:${media_type ?? ''};base64,${value}` : source.type === 'url' ? value : '';
  return parseFile({ url, name: undefined, media_type }, `${path}.source`);
}

/** Returns the answer to an interrupt, which names its call, what is asked and, of a question, which one. */
function parseEntry({ interruptId, status, payload }: Entry, index: number): OwnAnswer {
  const path = `resume.${index}`;
  const [wired_id = '', ask, question_id = ''] = interruptId.split(':');
  const place = parseCallId(wired_id);
  if (!place) throw createCommandRefusal(`${path}.interruptId`, `No interrupt with id ${interruptId.slice(0, 200)}`);
  const { task_id, call_id } = place;
  const given = { is_cancelled: status === 'cancelled', payload: isRecord(payload) ? payload : {}, path: `${path}.payload` };
  if (ask === 'approval') return { task_id, answer: { call_id, ...parseApproval(given) } };
  if (ask === 'reconciliation') return { task_id, answer: { call_id, ...parseReconciliation(given) } };
  if (ask === 'question' && isUuid(question_id))
    return { task_id, answer: { call_id, kind: 'question', question_id, ...parseAnswer(given) } };
  throw createCommandRefusal(`${path}.interruptId`, `No interrupt with id ${interruptId.slice(0, 200)}`);
}

interface Given {
  is_cancelled: boolean;
  payload: Record<string, unknown>;
  path: string;
}

function parseApproval({ is_cancelled, payload: { approved, message, editedArgs }, path }: Given) {
  if (editedArgs !== undefined)
    throw createCommandRefusal(
      path,
      'The arguments of a call cannot be edited; deny it, with a message that says what to change',
    );
  if (!is_cancelled && typeof approved !== 'boolean') throw createCommandRefusal(path, 'Send `approved`, which is true or false');
  const said = typeof message === 'string' ? { message } : {};
  return { kind: 'approval' as const, approved: approved === true && !is_cancelled, ...said };
}

const DECISIONS = ['retry', 'done', 'fail'] as const;

function parseReconciliation({ is_cancelled, payload: { decision, result }, path }: Given) {
  const known = DECISIONS.find((one) => one === decision);
  if (is_cancelled || !known)
    throw createCommandRefusal(path, 'The call may have taken effect: send `decision`, which is retry, done or fail');
  return { kind: 'reconciliation' as const, decision: known, ...(result === undefined ? {} : { result }) };
}

/** A payload is the content of the answer; a client that gives none has cancelled it. */
function parseAnswer({ is_cancelled, payload }: Given): Answer {
  const [accept, , cancel] = ANSWER_ACTIONS;
  return is_cancelled ? { action: cancel } : { action: accept, content: payload as Answer['content'] };
}
