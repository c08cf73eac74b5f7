import { ErrorCode, McpError, type Task } from '@modelcontextprotocol/sdk/types.js';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { getOwnTask } from '../../checks/owned.ts';
import { type CompatServices, type CompatTask, hasEnded, waitForEnd } from '../runs.ts';

type TaskStatus = CompatTask['status'];

/**
 * Maps the statuses of runs. `waiting` does not become `input_required`: the decision is made in Perdura, so the MCP client has
 * nothing to ask its user.
 */
const MCP_STATUS: Record<TaskStatus, Task['status']> = {
  pending: 'working',
  running: 'working',
  waiting: 'working',
  completed: 'completed',
  failed: 'failed',
  halted: 'cancelled',
};

const POLL_MS = 1_000;

/** Returns a run as an MCP task. The task has the run's id, and is stored as long as other runs (`ttl: null`). */
export const describeRunTask = ({ id, status, error, created_at, started_at, completed_at }: CompatTask): Task => ({
  taskId: id,
  status: MCP_STATUS[status],
  ttl: null,
  createdAt: new Date(created_at).toISOString(),
  lastUpdatedAt: new Date(completed_at ?? started_at ?? created_at).toISOString(),
  pollInterval: POLL_MS,
  ...(status === 'waiting' ? { statusMessage: 'Waits for a decision in Perdura' } : error ? { statusMessage: error } : {}),
});

/** Returns a run of the caller. Other people's runs get the same answer as none (null), so that ids cannot be probed. */
export const findOwnTask = ({ store }: CompatServices, caller: Caller, task_id: string): Promise<CompatTask | null> =>
  getOwnTask(store)(task_id, caller).catch((error: unknown) => {
    if (error instanceof AppError) return null;
    throw error;
  });

/** Serves the tasks of one caller. */
export function createRunTasks(services: CompatServices, caller: Caller) {
  async function find(task_id: string): Promise<CompatTask> {
    const task = await findOwnTask(services, caller, task_id);
    if (!task) throw new McpError(ErrorCode.InvalidParams, `You have no task with id ${task_id}`);
    return task;
  }
  return {
    find,
    async cancel(task_id: string, signal: AbortSignal): Promise<CompatTask> {
      const task = await find(task_id);
      if (hasEnded(task)) throw new McpError(ErrorCode.InvalidParams, `The task has already ended: ${MCP_STATUS[task.status]}`);
      await services.dispatch.halt(task.id);
      return waitForEnd(services, { task_id: task.id, workflow_id: task.workflow_id }, signal);
    },
  };
}
