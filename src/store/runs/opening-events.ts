import { storable } from '../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { NewTask } from './new-task.ts';

const EXCERPT = 200;

/** Returns the first events of a task. */
export function openingEvents({ task_id, prompt, attachments = [], seed: from }: NewTask, at: string): NewEvent[] {
  const { log } = createTaskEvents(task_id, () => at);
  const received = log('prompt_received', excerpt(prompt), { task_id, ...(attachments.length > 0 ? { attachments } : {}) });
  if (!from) return [received];
  const { step, effects, changes } = from;
  const forked_from = { task_id: from.task_id, step, effects };
  const differs = changes.length > 0 ? ` with another ${changes.join(', ')}` : '';
  const detail = `Forked from step ${step} of the run ${from.task_id}${differs}`;
  return [received, log('forked', detail, { forked_from, ...(differs ? { changes } : {}) })];
}

const excerpt = (text: string) => storable([...text].slice(0, EXCERPT).join(''));
