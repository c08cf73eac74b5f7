import type { LogData } from '../../../contracts/events.ts';
import type { RunPart, Wait, WaitReason } from './parts.ts';

/** Tracks what a run waits for besides approvals and its client. */
export function createWaitTracker() {
  const open = new Map<string, Wait>();

  function begin(wait: Wait): RunPart[] {
    open.set(wait.id, wait);
    return [{ kind: 'wait', wait }];
  }

  function end(is_over: (wait: Wait) => boolean): RunPart[] {
    const over = [...open.values()].filter(is_over);
    for (const { id } of over) open.delete(id);
    return over.map((wait) => ({ kind: 'wait_over', wait }));
  }

  const toId = (reason: WaitReason, call_id?: string) => (call_id ? `${reason}-${call_id}` : reason);
  const beginOf = (reason: WaitReason, { detail, call_id, until, question }: Omit<Wait, 'id' | 'reason'>) =>
    begin({ id: toId(reason, call_id), reason, detail, call_id, until, question });

  return {
    /** Returns what a log event adds; `at` is its time. */
    read(data: LogData, at: string): RunPart[] {
      switch (data.event) {
        case 'rate_limited':
          return beginOf('rate_limit', { detail: data.detail, until: addMs(at, data.wait_ms) });
        case 'retry':
          return beginOf('retry', { detail: data.detail, call_id: data.call_id, until: addMs(at, data.wait_ms) });
        case 'budget_exhausted':
        case 'unpriced_model':
          return data.on_exhausted === 'wait'
            ? beginOf('budget', { detail: data.detail, until: 'until' in data ? data.until : undefined })
            : [];
        case 'question_asked':
          return beginOf('question', { ...data, until: data.question.expires_at });
        case 'question_answered':
          return end(({ id }) => id === toId('question', data.call_id));
        case 'reconciliation_requested':
          return beginOf('reconciliation', data);
        case 'reconciliation_decided':
          return end(({ id }) => id === toId('reconciliation', data.call_id));
        case 'record_behind':
          return beginOf('record_behind', data);
        case 'continuity_decided':
          return end(({ reason }) => reason === 'record_behind');
        default:
          return [];
      }
    },
    /** The run continues: it no longer waits for a budget. */
    resume: () => end(({ reason }) => reason === 'budget'),
    /** The model answers: its provider no longer limits it. */
    answer: () => end(({ reason, call_id }) => reason === 'rate_limit' || (reason === 'retry' && call_id === undefined)),
    endCall: (call_id: string) => end((wait) => wait.call_id === call_id),
    endAll: () => end(() => true),
  };
}

const addMs = (at: string, ms: number | undefined) =>
  ms === undefined || Number.isNaN(Date.parse(at)) ? undefined : new Date(Date.parse(at) + ms).toISOString();
