import type { LogData } from '../../../contracts/events.ts';
import { formatReason, STOPPED_UNBEGUN } from '../../../domain/receipts.ts';
import type { TerminalStatus } from '../../../domain/statuses.ts';
import type { Receipt, RunPart } from './parts.ts';

export interface ReceiptRules {
  task_id: string;
  /** True if the prompt of the run was sent as a message, whose id is that of the run. Absent: false. */
  is_message?: boolean | undefined;
  /** The message that the client has sent with its request, with the id that the client gave it. */
  sent?: { message_id: string; sent_as: string } | undefined;
}

/** Tracks the states of the messages that were sent to a run, and of the one that begins it. */
export function createReceiptTracker({ task_id, is_message = false, sent }: ReceiptRules) {
  /** True until the outcome of the prompt is known. */
  let is_open = is_message;

  const report = (message_id: string, state: Receipt['state'], more: Partial<Receipt> = {}): RunPart[] => [
    {
      kind: 'receipt',
      receipt: {
        message_id,
        state,
        task_id,
        step: null,
        ...more,
        ...(sent?.message_id === message_id ? { sent_as: sent.sent_as } : {}),
      },
    },
  ];
  const reportPrompt = (state: Receipt['state'], more?: Partial<Receipt>) => {
    if (!is_open) return [];
    is_open = state === 'pending';
    return report(task_id, state, more);
  };

  return {
    read(data: LogData): RunPart[] {
      switch (data.event) {
        case 'prompt_received':
          return reportPrompt('pending');
        case 'message_waiting':
          return report(data.message_id, 'pending');
        case 'message_passed_on':
          return report(data.message_id, 'pending', { task_id: data.task_id });
        case 'message_refused':
          return report(data.message_id, 'refused', { reason: formatReason(data.reason) });
        case 'message_withdrawn':
          return data.message_id === task_id ? reportPrompt('withdrawn') : report(data.message_id, 'withdrawn');
        default:
          return [];
      }
    },
    steer: (message_id: string, step: number): RunPart[] => report(message_id, 'steered', { step }),
    begin: () => reportPrompt('started'),
    /** The run has ended: if it never began, its prompt is refused. */
    end: (status: TerminalStatus, error: string | null): RunPart[] =>
      reportPrompt('refused', { reason: error ?? (status === 'halted' ? STOPPED_UNBEGUN : undefined) }),
  };
}
