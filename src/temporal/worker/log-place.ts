import { Context } from '@temporalio/activity';
import { toRunId, toTaskId } from '../names.ts';

/** Returns the task whose activity is running here; null outside of one. */
export function currentTask(): string | null {
  try {
    const id = Context.current().info.workflowExecution!.workflowId;
    const task_id = toTaskId(id);
    return id === toRunId(task_id) ? task_id : null;
  } catch {
    return null;
  }
}
