import { isTerminal } from '../domain/statuses.ts';
import { PerduraAnswerError } from './errors.ts';
import { type FollowOptions, followTask, type TaskEvent } from './events.ts';
import type { PromptAccepted, PromptRequest, Task, TaskDetail, TaskStep, ToolCallRecord } from './generated/api.ts';
import {
  type CallOptions,
  type ClientOptions,
  createTransport,
  type ReplyOf,
  type Route,
  type RouteOptions,
} from './transport.ts';

export { PerduraAnswerError, PerduraConnectionError, PerduraError } from './errors.ts';
export type { FollowOptions, TaskEvent } from './events.ts';
export type * from './generated/api.ts';
export type { CallOptions, ClientOptions, ReplyOf, Route } from './transport.ts';

export type PerduraClient = ReturnType<typeof createClient>;

type ItemOf<R extends Route> = ReplyOf<R> extends readonly (infer I)[] ? I : never;

/** Creates a client of one installation. It acts as the person who owns the access token. */
export function createClient(options: ClientOptions) {
  const transport = createTransport(options);

  /** Calls any operation of the API: `request('GET /api/agents/{id}', { path: { id } })`. */
  async function request<R extends Route>(route: R, ...[input]: RouteOptions<R>): Promise<ReplyOf<R>> {
    return (await transport.send(route, input)).value as ReplyOf<R>;
  }

  /** Yields the items of a list, page after page: `for await (const agent of items('GET /api/agents'))`. */
  async function* items<R extends Route>(route: R, ...[input]: RouteOptions<R>): AsyncGenerator<ItemOf<R>, void> {
    const { query, ...rest } = (input ?? {}) as { query?: object };
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { value, headers } = await transport.send(route, { ...rest, query: { ...query, cursor } });
      if (!Array.isArray(value)) throw new PerduraAnswerError(options.url, `did not answer ${route} with a list`);
      yield* value as ItemOf<R>[];
      const next = nextCursor(headers.get('link'));
      if (next !== null && next === cursor) throw new PerduraAnswerError(options.url, `names the same page of ${route} again`);
      cursor = next;
    }
  }

  const events = (task_id: string, follow: FollowOptions = {}): AsyncGenerator<TaskEvent, void> =>
    followTask(transport, task_id, follow);

  const get = (
    task_id: string,
    { include = 'messages,logs', ...call }: CallOptions & { include?: string } = {},
  ): Promise<TaskDetail> => request('GET /api/tasks/{id}', { path: { id: task_id }, query: { include }, ...call });

  /** Waits until a run has ended, and returns it. A failed run is returned like a completed one. */
  async function wait(task_id: string, call: { signal?: AbortSignal } = {}): Promise<TaskDetail> {
    for await (const _ of events(task_id, call));
    return get(task_id, call);
  }

  /** Returns the calls of a run that wait for approval. */
  async function waitingCalls(task_id: string, call: CallOptions = {}): Promise<ToolCallRecord[]> {
    const steps: TaskStep[] = await request('GET /api/tasks/{id}/steps', { path: { id: task_id }, ...call });
    return steps.flatMap(({ tool_calls }) => tool_calls).filter(({ status }) => status === 'waiting_approval');
  }

  const decide =
    (decision: 'approve' | 'deny') =>
    (task_id: string, call_id: string, { message, ...call }: Decision = {}) =>
      request('POST /api/tasks/{id}/approvals/{call_id}', {
        path: { id: task_id, call_id },
        body: { decision, ...(message === undefined ? {} : { message }) },
        ...call,
      });

  return {
    request,
    items,
    runs: {
      /** Starts a run of a workflow; it continues whether or not anybody follows it. */
      start(workflow_id: string, prompt: string | PromptRequest, call: CallOptions = {}): Promise<PromptAccepted> {
        const body = typeof prompt === 'string' ? { prompt } : prompt;
        return request('POST /api/workflows/{id}/prompt', { path: { id: workflow_id }, body, ...call });
      },
    },
    tasks: {
      get,
      events,
      wait,
      waitingCalls,
      approve: decide('approve'),
      deny: decide('deny'),
      /** Asks a run to stop; it ends within seconds. */
      stop: (task_id: string, call: CallOptions = {}) => request('POST /api/tasks/{id}/stop', { path: { id: task_id }, ...call }),
      hasEnded: ({ status }: Pick<Task, 'status'>): boolean => isTerminal(status),
    },
  };
}

type Decision = CallOptions & { message?: string };

/** Returns the cursor of the next page in a Link header; null on the last page. */
function nextCursor(link: string | null): string | null {
  const [, target] = /<([^<>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return target ? new URL(target, 'http://page').searchParams.get('cursor') : null;
}
