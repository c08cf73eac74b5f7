import { type Client, ScheduleNotFoundError } from '@temporalio/client';
import { formatMark, type Mark, parseMark } from '../../domain/epoch.ts';
import { reconcilerScheduleId } from '../names.ts';
import { withCallDeadline } from './engine.ts';

/**
 * Keeps the installation's mark in the engine, in the note of the reconciler's schedule. Every engine has that schedule, one for
 * each task queue. An account that may run workers may write the note, but not the data of a namespace.
 */
export function engineMark(client: Client, task_queue: string) {
  const soon = withCallDeadline(client);
  const schedule = client.schedule.getHandle(reconcilerScheduleId(task_queue));
  return {
    /** Returns the mark; null if the engine has none, because it is new or was emptied. */
    async read(): Promise<Mark | null> {
      try {
        return parseMark((await soon(() => schedule.describe())).state.note);
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) return null;
        throw error;
      }
    },
    async write(mark: Mark): Promise<void> {
      const note = formatMark(mark);
      await soon(() =>
        schedule.update(({ spec, action, policies, state }) => ({ spec, action, policies, state: { ...state, note } })),
      );
    },
  };
}
