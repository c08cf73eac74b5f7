import { formatCallId } from '../call-ids.ts';
import type { RunPart } from '../projection/parts.ts';
import { type AgUiPlace, createMessageIds, toContent } from './messages.ts';

/** An event of AG-UI, version 1.0. */
export type AgUiEvent = { type: string } & Record<string, unknown>;

/** Converts the parts of a run into events. Opens and closes the steps and messages that the protocol asks for. */
export function createEvents(place: AgUiPlace) {
  const { task_id } = place;
  const ids = createMessageIds(task_id);
  let step: number | null = null;
  let text: string | null = null;

  const custom = (name: string, value: unknown): AgUiEvent => ({
    type: 'CUSTOM',
    name: `perdura.${name}`,
    // A field that is absent must not be sent as null.
    value: JSON.parse(JSON.stringify(value)),
  });
  const endText = (): AgUiEvent[] => {
    const messageId = text;
    text = null;
    return messageId === null ? [] : [{ type: 'TEXT_MESSAGE_END', messageId }];
  };
  const endStep = (): AgUiEvent[] => {
    const ended = step;
    step = null;
    return [...endText(), ...(ended === null ? [] : [{ type: 'STEP_FINISHED', stepName: toStepName(ended) }])];
  };

  function write({ step: of_step, delta }: Extract<RunPart, { kind: 'text' }>): AgUiEvent[] {
    const messageId = ids.reply(of_step);
    const begin = text === messageId ? [] : [...endText(), { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }];
    text = messageId;
    return [...begin, { type: 'TEXT_MESSAGE_CONTENT', messageId, delta }];
  }

  function think({ step: of_step, text: delta }: Extract<RunPart, { kind: 'reasoning' }>): AgUiEvent[] {
    const messageId = ids.reasoning(of_step);
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId, delta },
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ];
  }

  function call({ step: of_step, call: made }: Extract<RunPart, { kind: 'call' }>): AgUiEvent[] {
    const toolCallId = formatCallId(task_id, made.call_id);
    const begin = { type: 'TOOL_CALL_START', toolCallId, toolCallName: made.name, parentMessageId: ids.reply(of_step) };
    const args = made.arguments === '' ? [] : [{ type: 'TOOL_CALL_ARGS', toolCallId, delta: made.arguments }];
    return [begin, ...args, { type: 'TOOL_CALL_END', toolCallId }];
  }

  function result(call_id: string, content: ReturnType<typeof toContent>, failed: boolean): AgUiEvent[] {
    const toolCallId = formatCallId(task_id, call_id);
    const metadata = failed ? { metadata: { failed: true } } : {};
    return [{ type: 'TOOL_CALL_RESULT', messageId: ids.result(call_id), toolCallId, content, role: 'tool', ...metadata }];
  }

  function convert(part: RunPart): AgUiEvent[] {
    switch (part.kind) {
      case 'step': {
        const before = endStep();
        step = part.step;
        return [...before, { type: 'STEP_STARTED', stepName: toStepName(step) }];
      }
      case 'text':
        return write(part);
      case 'text_end':
      // The sender of the events follows with a snapshot that lacks the text.
      case 'reset':
        return endText();
      case 'reasoning':
        return think(part);
      case 'steer': {
        const messageId = ids.steer(part.id);
        return [
          { type: 'TEXT_MESSAGE_START', messageId, role: 'user' },
          { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: part.text },
          { type: 'TEXT_MESSAGE_END', messageId },
        ];
      }
      case 'call':
        return call(part);
      case 'approval_decided': {
        const { call_id, approved, message } = part;
        return [custom('approval_decided', { toolCallId: formatCallId(task_id, call_id), approved, message })];
      }
      case 'result': {
        const { call_id, content, failed, files } = part.result;
        return result(call_id, toContent(content, files, place), failed);
      }
      case 'denied':
        return result(part.call_id, part.content, true);
      case 'wait':
        return [custom('wait', { ...part.wait, over: false })];
      case 'wait_over':
        return [custom('wait', { ...part.wait, over: true })];
      case 'todos':
        return [custom('todos', part.todos)];
      case 'progress': {
        const { kind: _, ...facts } = part;
        return [custom('progress', facts)];
      }
      case 'notice':
        return [custom('notice', { event: part.event, detail: part.detail })];
      case 'approval_requested':
      case 'usage':
      case 'restored':
      case 'end':
        return [];
    }
  }

  return {
    convert,
    close: endStep,
    /** Opens again what is open, for a reader that has the messages so far. */
    reopen: (): AgUiEvent[] => [
      ...(step === null ? [] : [{ type: 'STEP_STARTED', stepName: toStepName(step) }]),
      ...(text === null ? [] : [{ type: 'TEXT_MESSAGE_START', messageId: text, role: 'assistant' }]),
    ],
  };
}

const toStepName = (step: number) => `step ${step}`;
