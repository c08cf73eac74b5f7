import type { Attachment } from '../../../contracts/attachments.ts';
import { formatCallId } from '../call-ids.ts';
import type { PartCall, PartResult, Receipt, RunPart, Wait } from '../projection/parts.ts';

/** A chunk of the AI SDK's UI message stream (version 1). */
export type UiChunk = { type: string } & Record<string, unknown>;

export interface UiPlace {
  /** The run. It is also the id of the assistant message. */
  task_id: string;
  /** Returns the address of a file for the client. */
  toFileUrl(file: Pick<Attachment, 'id'>): string;
}

/** Returns a text as the JSON that it is; any other text as it is. */
export function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The facts of a call that the client needs for its part. A call that the client does not execute is `providerExecuted`: `useChat`
 * gives the others to `onToolCall`, and sends their results. Its tool is `dynamic`, because the client has no type for it.
 */
export const toCallFacts = (task_id: string, { call_id, name, executor }: PartCall) => ({
  toolCallId: formatCallId(task_id, call_id),
  toolName: name,
  ...(executor === 'client' ? {} : { providerExecuted: true, dynamic: true }),
});

export const toResultFacts = ({ duration_ms }: PartResult) =>
  duration_ms === undefined ? {} : { toolMetadata: { duration_ms } };

export const toWaitData = ({ id, ...wait }: Wait, over: boolean) => ({
  type: 'data-wait' as const,
  id,
  data: { ...JSON.parse(JSON.stringify(wait)), over },
});

export const toReceiptChunk = (receipt: Receipt): UiChunk => ({
  type: 'data-receipt',
  id: receipt.message_id,
  data: JSON.parse(JSON.stringify(receipt)),
  transient: true,
});

/** Converts the parts of a run into chunks. Opens and closes the steps and texts that the protocol asks for. */
export function createChunks({ task_id, toFileUrl }: UiPlace) {
  let step: number | null = null;
  let text: string | null = null;

  const endText = (): UiChunk[] => {
    const id = text;
    text = null;
    return id === null ? [] : [{ type: 'text-end', id }];
  };
  const endStep = (): UiChunk[] => {
    const is_open = step !== null;
    step = null;
    return [...endText(), ...(is_open ? [{ type: 'finish-step' }] : [])];
  };

  function write({ step: of_step, delta }: Extract<RunPart, { kind: 'text' }>): UiChunk[] {
    const id = `text-${of_step}`;
    const begin = text === id ? [] : [...endText(), { type: 'text-start', id }];
    text = id;
    return [...begin, { type: 'text-delta', id, delta }];
  }

  function toResult(result: PartResult): UiChunk[] {
    const { call_id, content, failed, files } = result;
    const toolCallId = formatCallId(task_id, call_id);
    const facts = toResultFacts(result);
    return [
      failed
        ? { type: 'tool-output-error', toolCallId, errorText: content, ...facts }
        : { type: 'tool-output-available', toolCallId, output: parseJson(content), ...facts },
      ...files.map((file) => ({ type: 'file', url: toFileUrl(file), mediaType: file.media_type })),
    ];
  }

  function convert(part: RunPart): UiChunk[] {
    switch (part.kind) {
      case 'step': {
        const before = endStep();
        step = part.step;
        return [...before, { type: 'start-step' }];
      }
      case 'text':
        return write(part);
      case 'text_end':
        return endText();
      case 'reset':
        text = null;
        return [{ type: 'reset-step' }];
      case 'reasoning': {
        const id = `reasoning-${part.step}`;
        return [
          { type: 'reasoning-start', id },
          { type: 'reasoning-delta', id, delta: part.text },
          { type: 'reasoning-end', id },
        ];
      }
      case 'steer':
        return [{ type: 'steering-message', id: part.id, parts: [{ type: 'text', text: part.text }] }];
      case 'receipt':
        return [toReceiptChunk(part.receipt)];
      case 'call':
        return [{ type: 'tool-input-available', ...toCallFacts(task_id, part.call), input: parseJson(part.call.arguments) }];
      case 'approval_requested': {
        const id = formatCallId(task_id, part.call_id);
        return [{ type: 'tool-approval-request', approvalId: id, toolCallId: id }];
      }
      case 'approval_decided': {
        const reason = part.message === undefined ? {} : { reason: part.message };
        const approvalId = formatCallId(task_id, part.call_id);
        return [{ type: 'tool-approval-response', approvalId, approved: part.approved, ...reason }];
      }
      case 'result':
        return toResult(part.result);
      case 'denied': {
        const toolCallId = formatCallId(task_id, part.call_id);
        // The state of a denied part requires an approval, which a call beyond the turn limit never had.
        return part.by_person
          ? [{ type: 'tool-output-denied', toolCallId }]
          : [{ type: 'tool-output-error', toolCallId, errorText: part.content }];
      }
      case 'wait':
        return [toWaitData(part.wait, false)];
      case 'wait_over':
        return [toWaitData(part.wait, true)];
      case 'todos':
        return [{ type: 'data-todos', id: 'todos', data: part.todos }];
      case 'progress': {
        const { kind: _, call_id, ...facts } = part;
        const of_call = call_id === undefined ? {} : { call_id: formatCallId(task_id, call_id) };
        return [{ type: 'data-progress', data: JSON.parse(JSON.stringify({ ...facts, ...of_call })), transient: true }];
      }
      case 'notice':
        return [{ type: 'data-notice', data: { event: part.event, detail: part.detail }, transient: true }];
      case 'usage':
        return [{ type: 'message-metadata', messageMetadata: { usage: part.usage } }];
      case 'restored':
      case 'end':
        return [];
    }
  }

  return {
    convert,
    close: endStep,
    forgetText() {
      text = null;
    },
  };
}
