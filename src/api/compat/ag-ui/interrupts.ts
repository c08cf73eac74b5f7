import { formatCallId } from '../call-ids.ts';
import type { AskedCall } from '../projection/parts.ts';

/** The reason of an interrupt about a call that may have taken effect, in the name space of this product. */
const RECONCILIATION = 'perdura:reconciliation';

const APPROVAL_SCHEMA = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, message: { type: 'string' } },
  required: ['approved'],
};

const RECONCILIATION_SCHEMA = {
  type: 'object',
  properties: {
    decision: { type: 'string', enum: ['retry', 'done', 'fail'] },
    result: { description: 'Of `done`: what the tool returned' },
  },
  required: ['decision'],
};

/** The id of an interrupt: of its call, of what is asked about it and, of a question, which one. */
const formatInterruptId = (task_id: string, { call_id, ask, question }: Pick<AskedCall, 'call_id' | 'ask' | 'question'>) =>
  [formatCallId(task_id, call_id), ask, ...(question ? [question.id] : [])].join(':');

/** Returns an interrupt for a call that waits for a person. */
export function toInterrupt(task_id: string, call: AskedCall): Record<string, unknown> {
  const { call_id, ask, detail, question, name } = call;
  const common = {
    id: formatInterruptId(task_id, call),
    message: detail,
    toolCallId: formatCallId(task_id, call_id),
    metadata: { tool: name },
  };
  if (ask === 'question')
    return {
      ...common,
      reason: 'input_required',
      responseSchema: { type: 'object', ...question?.schema },
      ...(question ? { expiresAt: question.expires_at } : {}),
    };
  return ask === 'approval'
    ? { ...common, reason: 'tool_call', responseSchema: APPROVAL_SCHEMA }
    : { ...common, reason: RECONCILIATION, responseSchema: RECONCILIATION_SCHEMA };
}
