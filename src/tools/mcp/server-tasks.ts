import { setTimeout as wait } from 'node:timers/promises';
import type { ElicitResult } from '@modelcontextprotocol/client';
import { pickTexts } from '../../domain/outside.ts';
import { McpLost, McpRefused, McpSilent, McpUnreadable, withoutDumps } from './failures.ts';

/** The extension of the protocol by which a server answers a call with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

export interface TaskPorts {
  /** Sends a request and returns its result; gives up after `most_ms`. */
  send(request: { method: string; params: object }, most_ms?: number): Promise<object>;
  /** Answers the questions of a result; null if there are none. */
  answer(requests: object): Promise<Record<string, ElicitResult> | null>;
  /** Notes that the server is at work, and what it says about that. */
  onprogress(message?: string): void;
  /** Asks the server to cancel the task. */
  cancel(task_id: string): void;
  isClosed(): boolean;
  /** Aborts when the call ends before the task. */
  ended: AbortSignal;
}

/** A task as a server describes it. */
interface TaskState {
  status?: unknown;
  pollIntervalMs?: unknown;
  inputRequests?: unknown;
  result?: unknown;
  error?: unknown;
}

const POLL_MS = 30_000;
const FIRST_INTERVAL_MS = 1_000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 30_000;
const MOST_FAILURES = 6;

/** Returns the result of the call that a server answered with a task. If the call ends before, the server is asked to cancel it. */
export async function waitForTask(ports: TaskPorts, created: object): Promise<object> {
  const { taskId: task_id } = created as { taskId?: unknown };
  if (typeof task_id !== 'string') throw new McpUnreadable('it answered with a task without an id');
  try {
    return await followTask(ports, task_id, created);
  } catch (error) {
    if (ports.ended.aborted) ports.cancel(task_id);
    // The call itself was executed, even if a later request was not.
    if (error instanceof McpLost && !error.sent) throw new McpLost(error.message, { sent: true, cause: error });
    throw error;
  }
}

async function followTask(ports: TaskPorts, task_id: string, created: TaskState): Promise<object> {
  const answered = new Set<string>();
  let task = created;
  for (;;) {
    await wait(findInterval(task), undefined, { signal: ports.ended });
    task = await pollTask(ports, task_id, findInterval(task));
    const { statusMessage } = pickTexts(task);
    ports.onprogress(statusMessage);
    if (task.status === 'completed') return readResult(task);
    if (task.status === 'failed')
      throw new McpRefused(withoutDumps(pickTexts(task.error).message ?? statusMessage ?? 'its task has failed'), {
        unexecuted: false,
      });
    if (task.status === 'cancelled')
      throw new McpRefused(`it has cancelled its task${statusMessage ? `: ${statusMessage}` : ''}`, { unexecuted: false });
    if (task.status === 'input_required') await answerTask(ports, { task_id, answered }, task.inputRequests);
  }
}

function readResult({ result }: TaskState): object {
  if (typeof result !== 'object' || result === null) throw new McpUnreadable('its task has ended without a result');
  return result;
}

/** Answers the questions that were not answered before: a server may repeat them until it has read the answers. */
async function answerTask(
  { send, answer }: TaskPorts,
  { task_id, answered }: { task_id: string; answered: Set<string> },
  requests: unknown,
): Promise<void> {
  const open = Object.entries(Object(requests) as object).filter(([key]) => !answered.has(key));
  const inputResponses = await answer(Object.fromEntries(open));
  if (!inputResponses) return;
  await send({ method: 'tasks/update', params: { taskId: task_id, inputResponses } }, POLL_MS);
  for (const [key] of open) answered.add(key);
}

/** Asks for the state of a task. A task survives lost requests, so the server is asked again a few times. */
async function pollTask(ports: TaskPorts, task_id: string, interval_ms: number): Promise<TaskState> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ports.send({ method: 'tasks/get', params: { taskId: task_id } }, POLL_MS);
    } catch (error) {
      if (ports.ended.aborted) throw error;
      if (error instanceof McpRefused)
        throw new McpLost(`it does not say how its task ended: ${error.message}`, { sent: true, cause: error });
      if (!(error instanceof McpLost || error instanceof McpSilent)) throw error;
      if (failures === MOST_FAILURES || ports.isClosed()) throw new McpLost(error.message, { sent: true, cause: error });
    }
    await wait(Math.min(LONGEST_INTERVAL_MS, interval_ms * 2 ** failures), undefined, { signal: ports.ended });
  }
}

/** Returns the interval that the server wishes, within limits. */
function findInterval({ pollIntervalMs }: TaskState): number {
  const wish = typeof pollIntervalMs === 'number' && pollIntervalMs >= 0 ? pollIntervalMs : FIRST_INTERVAL_MS;
  return Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, wish));
}
