import { isUuid } from '../../domain/uuid.ts';

/** Returns the id of a call for clients; it contains the ids of the task and of the call. */
export const formatCallId = (task_id: string, call_id: string) => `call_${task_id}_${call_id}`;

/** Returns the task and the call of an id that this installation issued; null for any other id. */
export function parseCallId(id: string): { task_id: string; call_id: string } | null {
  const [, task_id = '', call_id = ''] = /^call_(.+)_(\d+-\d+)$/.exec(id) ?? [];
  return isUuid(task_id) ? { task_id, call_id } : null;
}
