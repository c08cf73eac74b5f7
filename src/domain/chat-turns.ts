import type { TASK_STATUSES } from './statuses.ts';

/** A turn of a chat: a message of a person, and its outcome. */
export interface ChatTurn {
  id: string;
  prompt: string;
  status: (typeof TASK_STATUSES)[number];
  error: string | null;
  /** What the model has written in whole messages. */
  text: string;
  total_in: number;
  total_out: number;
  estimated: boolean;
  truncated: boolean;
  created_at: Date;
  completed_at: Date | null;
}

/**
 * Returns the id of the reply that a turn has in a chat. It differs from the turn's own, which is the id of the message, in the version
 * of the UUID only: 8, for a custom layout. So a reply sorts directly behind its message.
 */
export const toReplyId = (task_id: string): string => `${task_id.slice(0, 14)}8${task_id.slice(15)}`;

export const toChatUsage = ({ total_in, total_out, estimated }: Pick<ChatTurn, 'total_in' | 'total_out' | 'estimated'>) => ({
  prompt_tokens: total_in,
  completion_tokens: total_out,
  ...(estimated ? { estimated } : {}),
});

/** Returns why the message of a turn has no reply, or no whole one; null if it has one, or may get one. */
export const getReplyError = ({ status, error, text }: Pick<ChatTurn, 'status' | 'error' | 'text'>): string | null => {
  if (status === 'failed') return error ?? 'The run failed';
  return status === 'halted' && text === '' ? 'The reply was stopped before the model wrote anything' : null;
};
