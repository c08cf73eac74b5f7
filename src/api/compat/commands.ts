import type { AttachmentOrder } from '../../contracts/attachments.ts';
import type { WHEN_BUSY } from '../../contracts/thread-messages.ts';
import type { ToolSpec } from '../../domain/definition.ts';
import { AppError } from '../../domain/errors.ts';
import type { Answer } from '../../domain/questions.ts';
import { isUuid } from '../../domain/uuid.ts';

export type WhenBusy = (typeof WHEN_BUSY)[number];

/** What a person wrote in a front end. */
interface SentMessage {
  /** The id that the front end gave it. */
  id: string;
  text: string;
  files: AttachmentOrder[];
}

/** The answer to what a run waits for: about one of its calls. */
export type CallAnswer = { call_id: string } & (
  | { kind: 'approval'; approved: boolean; message?: string | undefined }
  /** The client has executed the call. */
  | { kind: 'result'; result: unknown; failed: boolean }
  | ({ kind: 'question'; question_id: string } & Answer)
  | { kind: 'reconciliation'; decision: 'retry' | 'done' | 'fail'; result?: unknown }
);

/** What a request of a front end asks for. */
export type FrontEndCommand =
  | {
      kind: 'message';
      message: SentMessage;
      /** The id of the message that it replaces; null: it is a new one. */
      replaces: string | null;
      /** The id of the answer before it, as the page has it; null: none. */
      answer_before: string | null;
      /**
       * The id of the message that it follows in the page, of a protocol that does not say what it replaces. If the thread has a turn
       * after that one, the message replaces it. Absent: it follows the last turn.
       */
      follows?: string | undefined;
      /** What happens to it if a turn is in progress; absent: what the workflow says. */
      when_busy?: WhenBusy | undefined;
      /** Tools that the client executes. */
      client_tools?: ToolSpec[] | undefined;
      /** What the page sends for the agent besides the message. */
      context?: readonly { description: string; value: string }[] | undefined;
    }
  /** Answer again. `message_id` is the answer, or the message that it answers; null: the last answer of the thread. */
  | { kind: 'regenerate'; message_id: string | null; answer_before: string | null; when_busy?: WhenBusy | undefined }
  | {
      kind: 'decide';
      task_id: string;
      answers: CallAnswer[];
      /** The last event that the client has of the task; null: it gets its messages again. */
      after: number | null;
    };

export const createCommandRefusal = (path: string, message: string) =>
  new AppError('invalid', message, { code: 'invalid_message', errors: [{ path, message }] });

const OWN_FILE = /\/api\/attachments\/([^/]+)\/content(?:[?#]|$)/;

interface SentFile {
  url: string;
  name: string | undefined;
  media_type: string | undefined;
}

/** Returns a file of a message as an order: one that was uploaded before, by its address, or one within the request. */
export function parseFile({ url, name, media_type }: SentFile, path: string): AttachmentOrder {
  const [, id = ''] = OWN_FILE.exec(url) ?? [];
  if (isUuid(id)) return { id };
  if (/^data:[^,]*;base64,/.test(url)) return { name: name ?? 'file', data: url, ...(media_type ? { media_type } : {}) };
  throw createCommandRefusal(
    path,
    'A file is a data URL in base64, or the address of one that was uploaded with POST /api/attachments; other addresses are not read',
  );
}

/** Throws for a message without content. */
export function checkContent(message: SentMessage, path: string): SentMessage {
  if (message.text.trim() === '' && message.files.length === 0)
    throw createCommandRefusal(path, 'The message has neither a text nor a file; add one of them');
  return message;
}

/** Returns the answers as a command. Throws if they are about calls of different runs. */
export function toDecision(
  answers: readonly { task_id: string; answer: CallAnswer }[],
  { after, path }: { after: number | null; path: string },
): FrontEndCommand {
  const [first] = answers;
  if (!first)
    throw createCommandRefusal(path, 'The request answers nothing: send a message of the user, an approval or a result');
  if (answers.some(({ task_id }) => task_id !== first.task_id))
    throw createCommandRefusal(path, 'The answers are about calls of different runs; send one request for each run');
  return { kind: 'decide', task_id: first.task_id, answers: answers.map(({ answer }) => answer), after };
}

const UUID_LENGTH = 36;

/** Returns the task of the id of a message, which begins with it; null if the page chose the id. */
export function parseTurnId(message_id: string): string | null {
  const task_id = message_id.slice(0, UUID_LENGTH);
  return isUuid(task_id) && /^(?:-|$)/.test(message_id.slice(UUID_LENGTH)) ? task_id : null;
}

const PROMPT = '-prompt';
/** The id that the prompt of a turn has in the messages that front ends load. */
export const toPromptId = (task_id: string) => `${task_id}${PROMPT}`;
export const isPromptId = (message_id: string) => parseTurnId(message_id) !== null && message_id.endsWith(PROMPT);
