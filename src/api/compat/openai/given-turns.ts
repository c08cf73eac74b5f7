import { v7 as uuid } from 'uuid';
import type { CompatItem } from '../../../contracts/compat-requests.ts';
import type { AttachedFile } from '../../../domain/attachments.ts';
import { formatMessage } from '../../../domain/conversation.ts';
import { storable, type TranscriptMessage, toCallId } from '../../../domain/transcript.ts';
import type { GivenItem } from '../../../store/runs/conversations.ts';
import type { ImportedTurn } from '../../../store/runs/imported-turns.ts';
import { parsePriorMessages } from './messages.ts';

type Message = Omit<TranscriptMessage, 'turn' | 'extra'> & { extra: { items: GivenItem[] } };
type Draft = ImportedTurn & { messages: Message[] };

const textOf = ({ item }: GivenItem) => {
  const [message] = parsePriorMessages([item as CompatItem], 'conversation').text_messages;
  return { role: message!.role, text: storable(message!.text) };
};

const isOutput = ({ item }: GivenItem) => item.type === 'function_call_output';

/**
 * Turns items that a client gave into turns: each message of the user begins one. Calls that have a result, and were given one after
 * another, are one round; a call without a result, and a result without a call, become text.
 */
export function toImportedTurns(given: readonly GivenItem[], files: readonly AttachedFile[]): ImportedTurn[] {
  const created_at = new Date();
  const turns: Draft[] = [];
  const begin = (prompt: string, turn_files: AttachedFile[]): Draft => {
    turns.push({ id: uuid(), prompt, response: null, files: turn_files, created_at, messages: [] });
    return turns.at(-1)!;
  };
  const current = () => turns.at(-1) ?? begin('', []);
  const add = (one: GivenItem, message: Pick<Message, 'role' | 'kind' | 'content'>) => {
    const { messages } = current();
    const step = (messages.at(-1)?.step ?? 0) + 1;
    messages.push({ step, position: 0, tool_calls: null, call_id: null, extra: { items: [one] }, ...message });
  };
  const called = new Set(given.filter(({ item }) => item.type === 'function_call').map(({ item }) => item.call_id));
  const findOutput = ({ item }: GivenItem) => given.find((one) => isOutput(one) && one.item.call_id === item.call_id);
  for (const [index, one] of given.entries()) {
    const { role, text } = textOf(one);
    const output = one.item.type === 'function_call' ? findOutput(one) : undefined;
    if (role === 'user') {
      const turn = begin(text, listFiles(one, files));
      const place = { step: 0, position: 0, tool_calls: null, call_id: null };
      turn.messages.push({ ...place, role: 'user', kind: 'prompt', content: text, extra: { items: [one] } });
    } else if (output) {
      const before = given[index - 1];
      addCall(current().messages, {
        call: one,
        output,
        joins: before?.item.type === 'function_call' && findOutput(before) !== undefined,
      });
    } else if (isOutput(one) && called.has(one.item.call_id)) {
      // It stands next to its call.
    } else if (role === 'assistant') {
      add(one, { role: 'assistant', kind: 'reply', content: text });
      current().response = text;
    } else {
      // A message of the system in the middle of a conversation is refused by many models, so it is marked as text.
      add(one, { role: role === 'tool' ? 'user' : 'system', kind: 'context', content: formatMessage({ role, text }) });
    }
  }
  return turns;
}

/** Adds a call and its result: to the round before, if it was given together with that, or as a new round. */
function addCall(messages: Message[], { call, output, joins }: { call: GivenItem; output: GivenItem; joins: boolean }): void {
  const last_step = messages.at(-1)?.step ?? 0;
  const step = joins ? last_step : last_step + 1;
  const round = messages.find((message) => message.step === step && message.position === 0);
  const call_id = toCallId(step, round?.tool_calls?.length ?? 0);
  const made = { call_id, name: String(call.item.name), arguments: storable(String(call.item.arguments)) };
  const blank = { step, call_id: null, tool_calls: null };
  if (round) {
    round.tool_calls!.push(made);
    round.extra.items.push(call);
  } else
    messages.push({
      ...blank,
      position: 0,
      role: 'assistant',
      kind: 'reply',
      content: '',
      tool_calls: [made],
      extra: { items: [call] },
    });
  const position = (round?.tool_calls?.length ?? 1) as number;
  messages.push({
    ...blank,
    call_id,
    position,
    role: 'tool',
    kind: 'result',
    content: textOf(output).text,
    extra: { items: [output] },
  });
}

function listFiles({ item }: GivenItem, files: readonly AttachedFile[]): AttachedFile[] {
  const parts = Array.isArray(item.content) ? (item.content as { file_id?: string }[]) : [];
  return parts.flatMap(({ file_id }) => files.filter(({ id }) => id === file_id).slice(0, 1));
}

/** Lists the ids of the files of items. */
export const listFileIds = (given: readonly GivenItem[]): string[] =>
  given.flatMap(({ item }) => (Array.isArray(item.content) ? item.content.flatMap(({ file_id }) => file_id ?? []) : []));
