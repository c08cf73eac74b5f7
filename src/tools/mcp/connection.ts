import { type Client, SseError, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { isMcpSignInNeeded } from '../../domain/errors.ts';
import { ANSWER_TOO_LARGE, findOutsideRefusal, OutsideRefused, truncate } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import { isDenied } from '../../egress/guarded-fetch.ts';
import { createCalls, type McpCall } from './calls.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { STATELESS_VERSION } from './era.ts';
import { findUnreadable, McpLost, McpRefused, withoutDumps } from './failures.ts';
import { createHttpWire } from './http-wire.ts';
import type { Listing } from './listing.ts';
import { cacheListing } from './listing-cache.ts';
import { openClient } from './open-client.ts';
import { createQuestions } from './questions.ts';
import { createRequests } from './requests.ts';
import type { toMcpOutcome } from './result.ts';
import { ConfinedStdio } from './stdio.ts';
import { isCommand, prepareCommand } from './stdio-server.ts';
import { createUnreachableError } from './unreachable.ts';

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
  /** Sends a request that is not a call, and returns its result; null if the server does not have what it is about. */
  request(asked: { method: string; params: object; capability: 'prompts' }, signal: AbortSignal): Promise<object | null>;
  /** Returns false if the server does not answer, or has lost the session. */
  ping(): Promise<boolean>;
  /** Does work during which the connection is in use, also while no request of it is in progress. */
  keepOpen<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the connection is not in use. */
  whenIdle(): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_SECONDS = 30;
const PING_MS = 5_000;
const REQUEST_MS = 20_000;

/**
 * Connects and initialises. Rejects with a sentence that names the server and the cause. A server that does not support
 * streamable HTTP is reached by the older transport with server-sent events.
 */
export async function connect(target: McpTarget, ports: ConnectPorts, version: string): Promise<McpConnection> {
  const { endpoint } = target;
  // The older transport has only versions with a handshake.
  if (endpoint.kind !== 'http' || target.protocol === STATELESS_VERSION) return connectOnce(target, ports, version);
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
  const end = { closed: false, reason: null as string | null };
  const transports: Transport[] = [];
  let given_up = false;
  const closeAll = () => Promise.allSettled(transports.map((transport) => transport.close()));
  const lose = (reason: Error) => {
    end.reason ??= getReason(reason);
    void closeAll();
  };
  const wire = createHttpWire(ports.fetch ?? fetch, { replies: target.endpoint.kind === 'http', refuse: refusal.report });
  const questions = createQuestions(target);
  const prepare = (client: Client) => {
    questions.listen(client);
    // An invalid line does not end the connection; `onclose` reports its end. The older transport has one stream for all answers:
    // after a new connection, those of the old one are missing.
    client.onerror = (error) => {
      if (findOutsideRefusal(error)) refusal.report(error);
      else if (error instanceof SseError) lose(error);
    };
  };
  const { connect_ms = (target.connect_seconds ?? CONNECT_SECONDS) * 1_000 } = ports;
  const onTransport = (transport: Transport) => {
    if (given_up) throw new Error('the connection was given up');
    transports.push(transport);
  };
  // The time for the connection begins after an installation.
  const startCommand = isCommand(target) ? await prepareCommand(target, ports) : undefined;
  const opening = openClient({ target, ports, fetch: wire.fetch, version, connect_ms, startCommand, prepare, onTransport });
  const { client, transport, is_stateless } = await withTimeLimit(refusal.orElse(opening), connect_ms).catch(async (thrown) => {
    given_up = true;
    await closeAll();
    if (isMcpSignInNeeded(thrown)) throw thrown;
    const error = thrown instanceof SseError ? (wire.getStreamError() ?? thrown) : thrown;
    const reason = wire.findBreak(error) ?? describeInitializeFault(error) ?? withoutDumps(getReason(error));
    throw createUnreachableError(
      target.name,
      describeCause(`${reason}${describeSetting(error, reason)}`, transports.at(-1)),
      error,
    );
  });
  client.onclose = () => {
    end.closed = true;
  };
  const sends_params = is_stateless && target.endpoint.kind !== 'stdio';
  const requests = createRequests(client, {
    wire,
    refusal,
    end,
    is_stateless,
    hasSession: () => transport.sessionId !== undefined,
  });
  return {
    isClosed: () => end.closed || requests.hasLostSession() || refusal.happened(),
    list: cacheListing(client, requests, {
      server_name: target.name,
      schemaFaults: ports.schemaFaults,
      is_stateless,
      sends_params,
    }),
    isSignedIn: ports.isSignedIn ?? (() => false),
    hasAsked: questions.hasAsked,
    call: createCalls({
      requests,
      questions,
      end,
      sends_params,
      is_stateless,
      takes_tasks: !is_stateless && takesTasks(client),
      call_ms: ports.call_ms,
    }),
    async request({ capability, ...request }, signal) {
      if (!client.getServerCapabilities()?.[capability]) return null;
      return requests.send(request, { signal, expiry: AbortSignal.timeout(REQUEST_MS) });
    },
    ping: requests.ping,
    keepOpen: requests.keepOpen,
    whenIdle: requests.whenIdle,
    async close() {
      if (transport instanceof StreamableHTTPClientTransport)
        await withTimeLimit(transport.terminateSession(), PING_MS).catch(() => {});
      await client.close();
      await transport.close();
    },
  };
}

/** True if a server with a handshake executes calls as tasks. */
const takesTasks = (client: Client): boolean => client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;

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
function describeCause(reason: string, transport: Transport | undefined): string {
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
