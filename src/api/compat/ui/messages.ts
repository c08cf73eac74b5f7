import type { Attachment } from '../../../contracts/attachments.ts';
import { formatCallId } from '../call-ids.ts';
import type { RunPart } from '../projection/parts.ts';
import { parseJson, toCallFacts, toResultFacts, toWaitData, type UiPlace } from './chunks.ts';

/** A message of the AI SDK's `useChat`. */
export type UiMessage = {
  id: string;
  role: 'user' | 'assistant';
  metadata?: Record<string, unknown>;
  parts: UiPart[];
};
export type UiPart = { type: string } & Record<string, unknown>;

interface PromptFacts {
  id: string;
  text: string;
  files: readonly Attachment[];
}

/** Returns what a person wrote as a message for `useChat`. */
export const toUserMessage = ({ id, text, files }: PromptFacts, { toFileUrl }: Pick<UiPlace, 'toFileUrl'>): UiMessage => ({
  id,
  role: 'user',
  parts: [
    ...files.map((file) => ({ type: 'file', mediaType: file.media_type, filename: file.name, url: toFileUrl(file) })),
    ...(text === '' ? [] : [{ type: 'text', text }]),
  ],
});

/**
 * Returns the message that a client has after it received these parts as a stream. Give `event` of a run that has not ended in
 * `metadata`: it is the number of the last event, from which the client continues.
 */
export function toAssistantMessage(
  run_parts: readonly RunPart[],
  { task_id, toFileUrl, metadata }: UiPlace & { metadata?: Record<string, unknown> },
): UiMessage {
  const parts: UiPart[] = [];
  const calls = new Map<string, UiPart>();
  let usage = {};

  const changeCall = (call_id: string, facts: Record<string, unknown>) => Object.assign(calls.get(call_id) ?? {}, facts);

  function write(delta: string) {
    const last = parts.at(-1);
    if (last?.type === 'text' && last.state === 'streaming') last.text = `${last.text}${delta}`;
    else parts.push({ type: 'text', text: delta, state: 'streaming' });
  }

  function addCall({ call }: Extract<RunPart, { kind: 'call' }>) {
    const { toolName, dynamic, ...facts } = { dynamic: false, ...toCallFacts(task_id, call) };
    const type = dynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` };
    const part = { ...type, ...facts, state: 'input-available', input: parseJson(call.arguments) };
    calls.set(call.call_id, part);
    parts.push(part);
  }

  function addResult({ result }: Extract<RunPart, { kind: 'result' }>) {
    const { call_id, content, failed, files } = result;
    const output = failed
      ? { state: 'output-error', errorText: content }
      : { state: 'output-available', output: parseJson(content) };
    changeCall(call_id, { ...output, ...toResultFacts(result) });
    for (const file of files) parts.push({ type: 'file', mediaType: file.media_type, url: toFileUrl(file) });
  }

  /** Adds a data part, or replaces the one with the same id. */
  function setData(part: UiPart) {
    const index = parts.findIndex(({ type, id }) => type === part.type && id === part.id);
    if (index === -1) parts.push(part);
    else parts[index] = part;
  }

  function decide({ call_id, approved, message }: Extract<RunPart, { kind: 'approval_decided' }>) {
    const approval = { id: formatCallId(task_id, call_id), approved, ...(message === undefined ? {} : { reason: message }) };
    changeCall(call_id, { state: 'approval-responded', approval });
  }

  function add(part: RunPart): unknown {
    switch (part.kind) {
      case 'step':
        return parts.push({ type: 'step-start' });
      case 'text':
        return write(part.delta);
      case 'text_end':
        return parts.filter(({ state }) => state === 'streaming').map((text) => Object.assign(text, { state: 'done' }));
      case 'reset':
        return parts.splice(parts.findLastIndex(({ type }) => type === 'step-start') + 1);
      case 'reasoning':
        return parts.push({ type: 'reasoning', id: `reasoning-${part.step}`, text: part.text, state: 'done' });
      case 'steer':
        return parts.push({
          type: 'steering-message',
          id: part.id,
          parts: [{ type: 'text', text: part.text }],
        });
      case 'call':
        return addCall(part);
      case 'approval_requested':
        return changeCall(part.call_id, { state: 'approval-requested', approval: { id: formatCallId(task_id, part.call_id) } });
      case 'approval_decided':
        return decide(part);
      case 'result':
        return addResult(part);
      case 'denied':
        return changeCall(
          part.call_id,
          part.by_person ? { state: 'output-denied' } : { state: 'output-error', errorText: part.content },
        );
      case 'wait':
        return setData(toWaitData(part.wait, false));
      case 'wait_over':
        return setData(toWaitData(part.wait, true));
      case 'todos':
        return setData({ type: 'data-todos', id: 'todos', data: part.todos });
      case 'usage':
        usage = { usage: part.usage };
    }
  }

  for (const part of run_parts) add(part);
  return { id: task_id, role: 'assistant', metadata: { ...metadata, ...usage, task_id }, parts };
}
