import type { Progress } from '@modelcontextprotocol/client';
import type { ResourceTool } from '../../domain/definition.ts';
import { truncate } from '../../domain/outside.ts';
import type { AskPerson, ToolOutcome } from '../source.ts';
import { callClock } from './call-clock.ts';
import { isMcpFailure, McpSilent } from './failures.ts';
import { createParamHeaders } from './header-params.ts';
import type { Questions } from './questions.ts';
import type { Requests } from './requests.ts';
import { toResourceOutcome, toResourceRequest } from './resources.ts';
import { type CallResult, toMcpOutcome } from './result.ts';
import { completeRequest } from './rounds.ts';
import { WISH_FOR_TASK } from './server-tasks.ts';

export interface McpCall {
  tool: string;
  arguments: Record<string, unknown>;
  /** Set if the tool is Perdura's, for the resources of the server. */
  resource_tool?: ResourceTool | undefined;
  /** True if the server executes the tool only as a task. */
  needs_task?: boolean | undefined;
  /** The schema of the arguments, as the server listed it. */
  schema?: unknown;
  call_key: string;
  onprogress?: ((progress: Progress) => void) | undefined;
  /** The run that makes the call. */
  task_id: string;
  /** Asks a person the server's questions. */
  ask?: AskPerson | undefined;
}

interface CallPorts {
  requests: Requests;
  questions: Questions;
  /** How the connection ended. */
  end: { closed: boolean };
  /** True if arguments are sent as headers, too, as their schema asks. */
  sends_params: boolean;
  /** True if the server speaks the version without a handshake, in which it cannot ask a question during a call. */
  is_stateless: boolean;
  /** True if the server takes calls as tasks when it is asked to, as versions with a handshake do. */
  takes_tasks: boolean;
  /** The longest silence of a server. */
  call_ms: number | undefined;
}

/** The key in `_meta` for a call's stable key, so that a server can recognise a repetition. */
const CALL_KEY = 'perdura/call_key';

const CALL_MS = 120_000;
const LONGEST_CALL_MS = 25 * 60_000;
const CANCEL_MS = 5_000;
/** The most refused questions of a call that the model reads about: a server could ask without end. */
const MOST_REFUSALS = 20;

/** What a server mentions that cannot ask in this version, as those made with FastMCP 4 and the SDKs do. */
const ABOUT_QUESTIONS = /elicit/i;
const USE_HANDSHAKE = 'If the server asks people questions only in the older way, its owner can set its `protocol` to 2025-11-25';

/** Creates the function that calls the tools of one connection. */
export function createCalls(ports: CallPorts) {
  const { requests, questions, end, sends_params, is_stateless, takes_tasks, call_ms = CALL_MS } = ports;
  return async function call(made: McpCall, signal: AbortSignal): Promise<ToolOutcome> {
    const { tool, arguments: args, resource_tool, needs_task, schema, call_key, onprogress, task_id, ask } = made;
    const wish = needs_task && takes_tasks ? WISH_FOR_TASK : {};
    const call_params = { name: tool, arguments: args, ...wish, _meta: { [CALL_KEY]: call_key } };
    const request = resource_tool ? toResourceRequest(resource_tool, args) : { method: 'tools/call', params: call_params };
    const headers = sends_params ? createParamHeaders(schema, args) : {};
    const expiry = new AbortController();
    const clock = callClock({ silence_ms: call_ms, total_ms: LONGEST_CALL_MS }, () => expiry.abort());
    const refusals = new Set<string>();
    const reportRefusal = (sentence: string) => {
      if (refusals.size < MOST_REFUSALS) refusals.add(truncate(sentence));
    };
    const asking = { task_id, ask, clock, reportRefusal };
    const ended = AbortSignal.any([signal, expiry.signal]);
    const watch = createWatch(clock, onprogress);
    const send = (request: { method: string; params: object }, most_ms?: number) => {
      const limit = most_ms === undefined ? expiry.signal : AbortSignal.any([expiry.signal, AbortSignal.timeout(most_ms)]);
      return requests.send(request, { signal, expiry: limit, ...watch, ...(request.method === 'tools/call' && { headers }) });
    };
    const task_ports = {
      send,
      answer: (requests: unknown) => questions.answerAll(requests, asking, ended),
      onprogress(message?: string) {
        clock.progress();
        if (message !== undefined) onprogress?.({ progress: 0, message });
      },
      cancel(id: string) {
        const limits = { signal: new AbortController().signal, expiry: AbortSignal.timeout(CANCEL_MS) };
        requests.send({ method: 'tasks/cancel', params: { taskId: id } }, limits).catch(() => {});
      },
      isClosed: () => end.closed,
      ended,
    };
    try {
      const result = await questions.during(asking, () => completeRequest(task_ports, request));
      const outcome = resource_tool ? toResourceOutcome(resource_tool, result) : toMcpOutcome(result as CallResult);
      if (is_stateless && outcome.failed && ABOUT_QUESTIONS.test(outcome.content)) reportRefusal(USE_HANDSHAKE);
      return { ...outcome, content: [outcome.content, ...[...refusals].map((sentence) => `[${sentence}]`)].join('\n') };
    } catch (error) {
      signal.throwIfAborted();
      throw expiry.signal.aborted && !isMcpFailure(error) ? new McpSilent('it did not answer in time') : error;
    } finally {
      clock.end();
    }
  };
}

/** Creates what a request reports while it waits for its server. */
const createWatch = (clock: ReturnType<typeof callClock>, onprogress: McpCall['onprogress']) => ({
  onprogress(progress: Progress) {
    clock.progress();
    onprogress?.(progress);
  },
  onWait(ms: number) {
    clock.progress(ms);
    onprogress?.({ progress: 0, message: `The server takes no more requests now; waiting ${Math.ceil(ms / 1_000)} s` });
  },
});
