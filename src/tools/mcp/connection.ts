import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Progress, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { isMcpSignInNeeded } from '../../domain/errors.ts';
import { ANSWER_TOO_LARGE, findOutsideRefusal, OutsideRefused, truncate } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import { isDenied } from '../../egress/guarded-fetch.ts';
import type { AskPerson } from '../source.ts';
import { callClock } from './call-clock.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { findUnreadable, McpLost, McpRefused, withoutDumps } from './failures.ts';
import { createHttpWire } from './http-wire.ts';
import { tidyInitialized } from './initialize.ts';
import { type Listing, listTools, type SchemaFaults } from './listing.ts';
import { createQuestions } from './questions.ts';
import { createRequests, type Requests } from './requests.ts';
import { type CallResult, toMcpOutcome } from './result.ts';
import { ConfinedStdio } from './stdio.ts';
import { stdioTransport } from './stdio-server.ts';
import { createUnreachableError } from './unreachable.ts';

interface McpCall {
  tool: string;
  arguments: Record<string, unknown>;
  call_key: string;
  onprogress?: ((progress: Progress) => void) | undefined;
  /** The run that makes the call. */
  task_id: string;
  /** Asks a person the server's questions. */
  ask?: AskPerson | undefined;
}

export interface McpConnection {
  /** True if the connection was lost or closed. */
  isClosed(): boolean;
  /** Returns all tools from all pages; lists them again after the server announced a change. */
  list(signal: AbortSignal): Promise<Listing>;
  /** True if the person's sign-in was sent, so that the server's list may apply to this person only. */
  isSignedIn(): boolean;
  /** True if the server has asked a person a question. */
  hasAsked(): boolean;
  call(call: McpCall, signal: AbortSignal): Promise<ReturnType<typeof toMcpOutcome>>;
  /** Returns false if the server does not answer, or has lost the session. */
  ping(): Promise<boolean>;
  /** Resolves when no request is in progress. */
  whenIdle(): Promise<void>;
  close(): Promise<void>;
}

/** The key in `_meta` for a call's stable key, so that a server can recognise a repetition. */
const CALL_KEY = 'perdura/call_key';

const CONNECT_SECONDS = 30;
const CALL_MS = 120_000;
const LONGEST_CALL_MS = 25 * 60_000;
const LIST_MS = 20_000;
const PING_MS = 5_000;

/**
 * Connects and initialises. Rejects with a sentence that names the server and the cause. A server that does not support
 * streamable HTTP is reached by the older transport with server-sent events.
 */
export async function connect(target: McpTarget, ports: ConnectPorts, version: string): Promise<McpConnection> {
  const { endpoint } = target;
  if (endpoint.kind !== 'http') return connectOnce(target, ports, version);
  return connectOnce(target, ports, version).catch((error: Error) => {
    const status = findRefusalStatus(error);
    if (status !== 404 && status !== 405) throw error;
    const older: McpTarget = { ...target, endpoint: { ...endpoint, kind: 'sse' } };
    return connectOnce(older, ports, version).catch((second: Error) => {
      if (isMcpSignInNeeded(second)) throw second;
      const both = `it answered ${status} to streamable HTTP, and to the older transport: ${truncate(getReason(second))}`;
      throw createUnreachableError(target.name, both, error);
    });
  });
}

/** Returns the status with which the server refused a POST of streamable HTTP. */
function findRefusalStatus(error: unknown): number | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    if (inner instanceof McpRefused || inner instanceof McpLost) return inner.status;
}

async function connectOnce(target: McpTarget, ports: ConnectPorts, version: string): Promise<McpConnection> {
  const refusal = watchRefusals();
  const client = new Client({ name: 'perdura', version }, { capabilities: { elicitation: { form: {} } } });
  const end = { closed: false, reason: null as string | null };
  const lose = (reason: Error) => {
    end.reason ??= getReason(reason);
    void client.close().catch(() => {});
  };
  const wire = createHttpWire(ports.fetch ?? fetch, { replies: target.endpoint.kind === 'http', refuse: refusal.report, lose });
  const transport = await createTransport(target, { ...ports, fetch: wire.fetch });
  const questions = createQuestions(client, target);
  client.onclose = () => {
    end.closed = true;
  };
  // An invalid line does not end the connection; `onclose` reports its end. The older transport has one stream for all answers:
  // after a new connection, those of the old one are missing.
  client.onerror = (error) => {
    if (findOutsideRefusal(error)) refusal.report(error);
    else if (error instanceof SseError) lose(error);
  };
  tidyFirstResult(transport);
  const requests = createRequests(client, {
    wire,
    refusal,
    end,
    hasSession: () => transport.sessionId !== undefined,
  });
  try {
    const { connect_ms = (target.connect_seconds ?? CONNECT_SECONDS) * 1_000 } = ports;
    // The client limits only its wait for the reply to `initialize`, not the wait for an event stream, nor that of later
    // requests.
    await withTimeLimit(refusal.orElse(client.connect(transport, { timeout: connect_ms })), connect_ms);
  } catch (thrown) {
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    if (isMcpSignInNeeded(thrown)) throw thrown;
    const error = thrown instanceof SseError ? (wire.getStreamError() ?? thrown) : thrown;
    const reason = wire.findBreak(error) ?? describeInitializeFault(error) ?? withoutDumps(getReason(error));
    throw createUnreachableError(target.name, describeCause(`${reason}${describeSetting(error, reason)}`, transport), error);
  }
  const listing = cacheListing(client, requests, ports.schemaFaults);
  return {
    isClosed: () => end.closed || requests.hasLostSession() || refusal.happened(),
    list: listing,
    isSignedIn: ports.isSignedIn ?? (() => false),
    hasAsked: questions.hasAsked,
    async call({ tool, arguments: args, call_key, onprogress, task_id, ask }, signal) {
      const params = { name: tool, arguments: args, _meta: { [CALL_KEY]: call_key } };
      const expiry = new AbortController();
      const limits = { silence_ms: ports.call_ms ?? CALL_MS, total_ms: LONGEST_CALL_MS };
      const clock = callClock(limits, () => expiry.abort());
      const watch = {
        onprogress(progress: Progress) {
          clock.progress();
          onprogress?.(progress);
        },
        onWait(ms: number) {
          clock.pause();
          onprogress?.({ progress: 0, message: `The server takes no more requests now; waiting ${Math.ceil(ms / 1_000)} s` });
        },
        onWaited: clock.resume,
      };
      const work = () => requests.send({ method: 'tools/call', params }, { signal, expiry: expiry.signal, ...watch });
      try {
        const refusals: string[] = [];
        const asking = { task_id, ask, clock, reportRefusal: (sentence: string) => void refusals.push(sentence) };
        const outcome = toMcpOutcome((await questions.during(asking, work)) as CallResult);
        return { ...outcome, content: [outcome.content, ...refusals.map((sentence) => `[${sentence}]`)].join('\n') };
      } finally {
        clock.end();
      }
    },
    ping: requests.ping,
    whenIdle: requests.whenIdle,
    async close() {
      if (transport instanceof StreamableHTTPClientTransport)
        await withTimeLimit(transport.terminateSession(), PING_MS).catch(() => {});
      await client.close();
      await transport.close();
    },
  };
}

/** Repairs the answer to `initialize`, which is the first result that a server sends. */
function tidyFirstResult(transport: Transport): void {
  let is_first = true;
  transport.onmessage = (message) => {
    if (!is_first || !('result' in message)) return;
    is_first = false;
    tidyInitialized(message);
  };
}

async function createTransport(target: McpTarget, ports: ConnectPorts): Promise<Transport> {
  const { endpoint } = target;
  const { fetch } = ports;
  if (endpoint.kind === 'stdio') return stdioTransport({ ...target, endpoint }, ports);
  const options = { requestInit: { headers: endpoint.headers }, ...(fetch ? { fetch } : {}) };
  const url = new URL(endpoint.url);
  return endpoint.kind === 'sse'
    ? new SSEClientTransport(url, options)
    : (new StreamableHTTPClientTransport(url, options) as unknown as Transport);
}

/** Ends every wait for a server when one of its answers was refused. */
function watchRefusals() {
  const refusal = Promise.withResolvers<never>();
  let happened = false;
  refusal.promise.catch(() => {});
  return {
    happened: () => happened,
    report(error: unknown) {
      happened = true;
      refusal.reject(toRefusal(error));
    },
    orElse: <T>(work: Promise<T>): Promise<T> =>
      Promise.race([work, refusal.promise]).catch((error) => Promise.reject(toRefusal(error))),
  };
}

/** Gives a refusal the error code of an MCP server. */
function toRefusal(error: unknown): unknown {
  const refusal = findOutsideRefusal(error);
  return refusal?.code === ANSWER_TOO_LARGE ? new OutsideRefused(refusal.message, 'mcp_answer_too_large') : (refusal ?? error);
}

/** Caches the list of tools, if the server announces changes, until it announces one. */
function cacheListing(client: Client, { send }: Requests, schemaFaults: SchemaFaults): (signal: AbortSignal) => Promise<Listing> {
  const { tools } = client.getServerCapabilities() ?? {};
  let cached_listing: Listing | null = null;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    cached_listing = null;
  });
  return async (signal) => {
    if (!tools) return { tools: [], problems: [], refused_tools: [] };
    if (cached_listing) return cached_listing;
    const ask = (params: object) => send({ method: 'tools/list', params }, { signal, expiry: AbortSignal.timeout(LIST_MS) });
    const listing = await listTools(ask, { schemaFaults });
    if (tools.listChanged) cached_listing = listing;
    return listing;
  };
}

/** Returns why an answer to `initialize` cannot be read; null if an error is not about that. */
function describeInitializeFault(error: unknown): string | null {
  const fault = findUnreadable(error);
  return fault && `its answer to \`initialize\` cannot be read: ${fault}`;
}

/** Returns the setting that allows an address which is refused here; empty if none was, or if the reason names it. */
const describeSetting = (error: unknown, reason: string): string =>
  isDenied(error) && !reason.includes(SETTING) ? `. The operator can allow the address with ${SETTING}` : '';
const SETTING = 'EGRESS_ALLOW';

/** Returns the reason and the last output of a process. */
function describeCause(reason: string, transport: Transport): string {
  const stderr = transport instanceof ConfinedStdio ? transport.stderr : '';
  return truncate(stderr ? `${reason}; its last output: ${stderr}` : reason);
}

/** Returns the result of the work; throws once the time is over. The caller must then end whatever the work waits for. */
async function withTimeLimit<T>(work: Promise<T>, most_ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it did not answer within ${most_ms / 1_000} s`)), most_ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
