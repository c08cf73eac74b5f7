import type { Attachment } from '../../../contracts/attachments.ts';
import { formatCallId } from '../call-ids.ts';
import type { PartCall, RunPart } from '../projection/parts.ts';

/** A message of AG-UI. */
export type AgUiMessage = { id: string; role: string } & Record<string, unknown>;

export interface AgUiPlace {
  task_id: string;
  /** Returns the address of a file for the client. */
  toFileUrl(file: Pick<Attachment, 'id'>): string;
}

type MediaFile = Pick<Attachment, 'id' | 'media_type'>;

/** A file as a part of a content. */
const toContentPart = (file: MediaFile, { toFileUrl }: Pick<AgUiPlace, 'toFileUrl'>) => {
  const [family = ''] = file.media_type.split('/');
  const type = ['image', 'audio', 'video'].includes(family) ? family : 'document';
  return { type, source: { type: 'url', value: toFileUrl(file), mimeType: file.media_type } };
};

/** A text with its files: a text alone stays one, which every client understands. */
export const toContent = (text: string, files: readonly MediaFile[], place: Pick<AgUiPlace, 'toFileUrl'>) =>
  files.length === 0 ? text : [{ type: 'text', text }, ...files.map((file) => toContentPart(file, place))];

/** Returns what a person wrote as a message of AG-UI. */
export const toUserMessage = (
  { id, text, files }: { id: string; text: string; files: readonly MediaFile[] },
  place: Pick<AgUiPlace, 'toFileUrl'>,
): AgUiMessage => ({ id, role: 'user', content: toContent(text, files, place) });

/** The ids of the messages that a step of a run makes. */
export const createMessageIds = (task_id: string) => ({
  reply: (step: number) => `${task_id}-${step}`,
  reasoning: (step: number) => `${task_id}-${step}-reasoning`,
  result: (call_id: string) => `${task_id}-result-${call_id}`,
  steer: (id: string) => `${task_id}-${id}`,
});

/** Collects the messages that the parts of a run make. */
export function createMessages(place: AgUiPlace) {
  const { task_id } = place;
  const ids = createMessageIds(task_id);
  let messages: AgUiMessage[] = [];

  function findOrAdd(id: string, message: Omit<AgUiMessage, 'id'> & { role: string }): AgUiMessage {
    const existing = messages.find((one) => one.id === id);
    if (existing) return existing;
    const added = { id, ...message };
    messages.push(added);
    return added;
  }

  function addCall(step: number, { call_id, name, arguments: args }: PartCall) {
    const reply = findOrAdd(ids.reply(step), { role: 'assistant' });
    const call = { id: formatCallId(task_id, call_id), type: 'function', function: { name, arguments: args } };
    reply.toolCalls = [...((reply.toolCalls as unknown[]) ?? []), call];
  }

  function addResult(call_id: string, content: ReturnType<typeof toContent>, failed: boolean) {
    const toolCallId = formatCallId(task_id, call_id);
    const metadata = failed ? { metadata: { failed: true } } : {};
    messages.push({ id: ids.result(call_id), role: 'tool', content, toolCallId, ...metadata });
  }

  return {
    add(part: RunPart): void {
      switch (part.kind) {
        case 'text': {
          const reply = findOrAdd(ids.reply(part.step), { role: 'assistant' });
          reply.content = `${(reply.content as string) ?? ''}${part.delta}`;
          break;
        }
        case 'reset':
          messages = messages.filter(({ id }) => id !== ids.reply(part.step));
          break;
        case 'reasoning':
          findOrAdd(ids.reasoning(part.step), { role: 'reasoning', content: part.text });
          break;
        case 'steer':
          messages.push({ id: ids.steer(part.id), role: 'user', content: part.text });
          break;
        case 'call':
          addCall(part.step, part.call);
          break;
        case 'result': {
          const { call_id, content, failed, files } = part.result;
          addResult(call_id, toContent(content, files, place), failed);
          break;
        }
        case 'denied':
          addResult(part.call_id, part.content, true);
      }
    },
    count: () => messages.length,
    /** Returns the messages so far, or the first of them. */
    list: (count?: number): AgUiMessage[] => structuredClone(messages.slice(0, count)),
  };
}

/** Returns the messages that these parts make. */
export function toAgUiMessages(parts: readonly RunPart[], place: AgUiPlace): AgUiMessage[] {
  const messages = createMessages(place);
  for (const part of parts) messages.add(part);
  return messages.list();
}
