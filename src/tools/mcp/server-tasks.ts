import { setTimeout as wait } from 'node:timers/promises';
import type { ElicitResult } from '@modelcontextprotocol/client';
import { pickTexts } from '../../domain/outside.ts';
import { isRecord } from '../../domain/records.ts';
import { isMcpFailure, McpLost, McpRefused, McpUnreadable, withoutDumps } from './failures.ts';

/** The extension of the protocol by which a server without a handshake answers a call with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** How long a server with a handshake is asked to keep a task: longer than any call takes, apart from the time that a person needs. */
const KEPT_MS = 60 * 60_000;
/** The part of a call by which a server with a handshake is asked for a task. */
export const WISH_FOR_TASK = { task: { ttl: KEPT_MS } };

/** Where FastMCP 2.14 puts the task of a call, in `_meta`; all others put it into the result. */
const TASK_META_KEY = 'modelcontextprotocol.io/task';

/** Returns the task with which a server with a handshake has answered a call; null if it answered with the result. */
export function findOlderTask({ task, _meta }: { task?: unknown; _meta?: unknown }): object | null {
  const found = task ?? (Object(_meta) as Record<string, unknown>)[TASK_META_KEY];
  return isRecord(found) ? found : null;
}

export interface TaskPorts {
  /** Sends a request and returns its result; gives up after `most_ms`. */
  send(request: { method: string; params: object }, most_ms?: number): Promise<object>;
  /** Answers the questions of a result; null if there are none. */
  answer(requests: unknown): Promise<Record<string, ElicitResult> | null>;
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
  /** The name of `pollIntervalMs` in versions with a handshake. */
  pollInterval?: unknown;
  inputRequests?: unknown;
  result?: unknown;
  error?: unknown;
}

const POLL_MS = 30_000;
const FIRST_INTERVAL_MS = 1_000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 30_000;
const MOST_FAILURES = 6;

/** Follows a task until it ends, and returns the result of its call. */
type FollowTask = (ports: TaskPorts, task_id: string, created: TaskState) => Promise<object>;

/** Returns the result of the call that a server without a handshake answered with a task. */
export const waitForTask = (ports: TaskPorts, created: object): Promise<object> => waitFor(ports, created, followTask);

/** Returns the result of the call that a server with a handshake answered with a task. */
export const waitForOlderTask = (ports: TaskPorts, created: object): Promise<object> => waitFor(ports, created, followOlderTask);

/** Returns the result of a call. If the call ends before its task, the server is asked to cancel the task. */
async function waitFor(ports: TaskPorts, created: object, follow: FollowTask): Promise<object> {
  const { taskId: task_id } = created as { taskId?: unknown };
  if (typeof task_id !== 'string') throw new McpUnreadable('it answered with a task without an id');
  try {
    return await follow(ports, task_id, created);
  } catch (error) {
    if (ports.ended.aborted) ports.cancel(task_id);
    // The call itself was executed, even if a later request was not.
    if (error instanceof McpLost && !error.sent) throw new McpLost(error.message, { sent: true, cause: error });
    throw error;
  }
}

async function followTask(ports: TaskPorts, task_id: string, created: TaskState): Promise<object> {
  const answered = new Set<string>();
  const task = await pollTask(ports, task_id, created, (asking) => answerTask(ports, { task_id, answered }, asking));
  if (task.status === 'completed') return readResult(task);
  const { statusMessage } = pickTexts(task);
  throw new McpRefused(withoutDumps(pickTexts(task.error).message ?? statusMessage ?? 'its task has failed'), {
    unexecuted: false,
  });
}

/** The result, and what the server asks before, come with `tasks/result`, which is answered when the task has ended. */
async function followOlderTask(ports: TaskPorts, task_id: string, created: TaskState): Promise<object> {
  const request = { method: 'tasks/result', params: { taskId: task_id } };
  let awaited: Promise<object | null> | null = null;
  const task = await pollTask(ports, task_id, created, async () => {
    // Lost while the task continues: the next time, the server is asked again.
    awaited ??= ports.send(request).catch(() => {
      awaited = null;
      return null;
    });
  });
  const result = await awaited;
  if (result) return result;
  if (task.status === 'completed') return sendPatiently(ports, request, findInterval(task));
  // Of a task that has failed, the error of its call is the answer.
  return ports.send(request).catch((error: unknown) => {
    throw error instanceof McpRefused ? new McpRefused(error.message, { unexecuted: false }) : error;
  });
}

/** Asks for a task until it has completed or failed, and returns it. `onAsking` is called whenever it waits for input. */
async function pollTask(
  ports: TaskPorts,
  task_id: string,
  created: TaskState,
  onAsking: (task: TaskState) => Promise<void>,
): Promise<TaskState> {
  let task = created;
  for (;;) {
    await wait(findInterval(task), undefined, { signal: ports.ended });
    const interval_ms = findInterval(task);
    task = await sendPatiently(ports, { method: 'tasks/get', params: { taskId: task_id } }, interval_ms);
    const { statusMessage } = pickTexts(task);
    ports.onprogress(statusMessage);
    if (task.status === 'completed' || task.status === 'failed') return task;
    if (task.status === 'cancelled')
      throw new McpRefused(`it has cancelled its task${statusMessage ? `: ${statusMessage}` : ''}`, { unexecuted: false });
    if (task.status === 'input_required') await onAsking(task);
  }
}

function readResult({ result }: TaskState): object {
  if (typeof result !== 'object' || result === null) throw new McpUnreadable('its task has ended without a result');
  return result;
}

/** Answers the questions that were not answered before: a server may repeat them until it has read the answers. */
async function answerTask(
  ports: TaskPorts,
  { task_id, answered }: { task_id: string; answered: Set<string> },
  { inputRequests: requests, ...task }: TaskState,
): Promise<void> {
  const open = Object.entries(Object(requests) as object).filter(([key]) => !answered.has(key));
  const inputResponses = await ports.answer(Object.fromEntries(open));
  if (!inputResponses) return;
  const request = { method: 'tasks/update', params: { taskId: task_id, inputResponses } };
  await sendPatiently(ports, request, findInterval(task));
  for (const [key] of open) answered.add(key);
}

/** Sends a request about a task. A task survives lost and refused requests, so the server is asked again a few times. */
async function sendPatiently(
  ports: TaskPorts,
  request: { method: string; params: object },
  interval_ms: number,
): Promise<object> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ports.send(request, POLL_MS);
    } catch (error) {
      if (ports.ended.aborted || !isMcpFailure(error)) throw error;
      const is_refused = error instanceof McpRefused;
      if (failures === MOST_FAILURES || ports.isClosed() || (is_refused && isFinal(error))) {
        const reason = is_refused ? `it does not say how its task ended: ${error.message}` : error.message;
        throw new McpLost(reason, { sent: true, cause: error });
      }
    }
    await wait(Math.min(LONGEST_INTERVAL_MS, interval_ms * 2 ** failures), undefined, { signal: ports.ended });
  }
}

/** The statuses of refusals that another attempt may not get: too slow, too early, too many requests. */
const FOR_NOW = new Set<number | undefined>([408, 425, 429]);

/** True if another attempt would get the same refusal, as from a server that does not know the task any more. */
const isFinal = ({ unexecuted, status }: McpRefused): boolean => unexecuted && !FOR_NOW.has(status);

/** Returns the interval that the server wishes, within limits. */
function findInterval({ pollIntervalMs, pollInterval = pollIntervalMs }: TaskState): number {
  const wish = typeof pollInterval === 'number' && pollInterval >= 0 ? pollInterval : FIRST_INTERVAL_MS;
  return Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, wish));
}
