import { setTimeout as wait } from 'node:timers/promises';
import {
  Client,
  type ClientCapabilities,
  type DiscoverResult,
  type JSONRPCMessage,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { getReason } from '../../domain/reason.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { type ClientFacts, isDiscovery, requestDiscovery, STATELESS_VERSION } from './era.ts';
import { ABOUT_CALLER, findUnreadable, McpRefused } from './failures.ts';
import { tidyInitialized } from './initialize.ts';
import { keepRawResults } from './raw-results.ts';
import { TASKS_EXTENSION } from './server-tasks.ts';
import type { ConfinedStdio } from './stdio.ts';

type Fetch = typeof globalThis.fetch;

interface OpenedClient {
  client: Client;
  transport: Transport;
  /** True if the server speaks the version without a handshake. */
  is_stateless: boolean;
}

interface Opening {
  target: McpTarget;
  ports: ConnectPorts;
  fetch: Fetch;
  version: string;
  connect_ms: number;
  /** Starts the server, if it is a command. */
  startCommand?: (() => ConfinedStdio) | undefined;
  /** Prepares a client before it is connected. */
  prepare(client: Client): void;
  /** Receives each transport when it is made, so that it can be closed. */
  onTransport(transport: Transport): void;
}

const CAPABILITIES = { elicitation: { form: {} } } satisfies ClientCapabilities;
/** Servers with a handshake have tasks of another kind. */
const STATELESS_CAPABILITIES = { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } } satisfies ClientCapabilities;

/** The longest wait for a server to say what it speaks; afterwards it is taken for an older one. */
const HTTP_DISCOVERY_MS = 10_000;
/** Short, because programs that know only the handshake may ignore the question. One that starts slowly may still answer it later. */
const STDIO_DISCOVERY_MS = 3_000;
const ACCEPTED = 202;

/** Connects a client to a server, in the version of the protocol that was chosen for the server, or that it speaks. */
export function openClient(opening: Opening): Promise<OpenedClient> {
  const { target, startCommand } = opening;
  if (startCommand) return openOverStdio(opening, startCommand);
  return openOverHttp(opening, target.endpoint as HttpEndpoint);
}

async function openOverHttp(opening: Opening, { kind, url, headers }: HttpEndpoint): Promise<OpenedClient> {
  const { fetch, onTransport } = opening;
  const options = { requestInit: { headers }, redirectPolicy: 'follow' as const };
  if (kind === 'sse') {
    const transport = new SSEClientTransport(new URL(url), { ...options, fetch });
    onTransport(transport);
    return connectWithHandshake(opening, transport);
  }
  const createTransport = (wire: Fetch) => {
    const reconnecting = { reconnectionScheduler: scheduleReconnection, fetch: wire };
    const transport = new StreamableHTTPClientTransport(new URL(url), { ...options, ...reconnecting });
    onTransport(transport);
    return transport;
  };
  const discovery = await discoverOverHttp(opening, createTransport);
  const transport = createTransport(fetch);
  return discovery ? connectStateless(opening, transport, discovery) : connectWithHandshake(opening, transport);
}

/** Asks a server if it speaks the version without a handshake, unless another version was chosen for it. */
async function discoverOverHttp(opening: Opening, createTransport: (wire: Fetch) => Transport): Promise<DiscoverResult | null> {
  if (!findChoice(opening.target).is_asked) return null;
  const unanswered = Promise.withResolvers<null>();
  const asking = createTransport(async (...sent) => {
    const response = await opening.fetch(...sent);
    if (response.status === ACCEPTED) unanswered.resolve(null);
    return response;
  });
  await asking.start();
  const answer = Promise.race([requestDiscovery(asking, toFacts(opening)), unanswered.promise]);
  return waitForDiscovery(opening, answer, findLimit(opening, HTTP_DISCOVERY_MS)).finally(() => asking.close());
}

/** The shortest and longest time after which a stream is opened again, whatever the server asks for. */
const RECONNECTION_MS = { least: 1_000, most: 60_000 };

/** Opens a stream again after a while. Returns a function that cancels this. */
export function scheduleReconnection(reconnect: () => void, asked_ms: number): () => void {
  const { least, most } = RECONNECTION_MS;
  const timer = setTimeout(reconnect, Math.min(Math.max(asked_ms, least), most));
  return () => clearTimeout(timer);
}

type HttpEndpoint = Exclude<McpTarget['endpoint'], { kind: 'stdio' }>;

async function openOverStdio(opening: Opening, startCommand: () => ConfinedStdio): Promise<OpenedClient> {
  const startTransport = async () => {
    const transport = startCommand();
    opening.onTransport(transport);
    await transport.start();
    return transport;
  };
  const ask = (transport: Transport, most_ms: number) =>
    waitForDiscovery(opening, requestDiscovery(transport, toFacts(opening)), most_ms);
  const transport = await startTransport();
  if (!findChoice(opening.target).is_asked) return connectWithHandshake(opening, transport);
  const discovery = await ask(transport, findLimit(opening, STDIO_DISCOVERY_MS));
  if (discovery) return connectStateless(opening, transport, discovery);
  // Some programs end when they are asked what they do not know.
  if (transport.has_ended) {
    await transport.close();
    return connectWithHandshake(opening, await startTransport());
  }
  return connectWithHandshake(opening, transport).catch(async (error: Error) => {
    // A program that refuses the handshake may not have been ready in time to say that it needs none.
    if (!(error instanceof ProtocolError)) throw error;
    const another = await startTransport();
    const late = await ask(another, opening.connect_ms / 2);
    if (!late) throw error;
    return connectStateless(opening, another, late);
  });
}

/** Whether a server is asked if it speaks the version without a handshake, and whether it has to speak that. */
const findChoice = ({ protocol }: McpTarget) => ({
  is_asked: protocol === undefined || protocol === STATELESS_VERSION,
  is_required: protocol === STATELESS_VERSION,
});

/**
 * Returns what a server has answered; null if it does not speak the version. If the version was chosen for the server, throws
 * instead of returning null: the failure itself, if the server could not be asked.
 */
async function waitForDiscovery(
  { target }: Opening,
  answer: Promise<DiscoverResult | null>,
  most_ms: number,
): Promise<DiscoverResult | null> {
  const { is_required } = findChoice(target);
  let refusal = '';
  const discovery = await unlessLate(answer, most_ms).catch((error: unknown) => {
    if (is_required && !isAnswerOfAnotherVersion(error)) throw error;
    refusal = `: ${getReason(error)}`;
    return null;
  });
  if (discovery || !is_required) return discovery;
  throw new Error(`it does not answer in version ${STATELESS_VERSION} of MCP, which is set as its protocol${refusal}`);
}

/** True if a server was asked, and its answer shows only that it does not know the question. */
const isAnswerOfAnotherVersion = (error: unknown): boolean =>
  findUnreadable(error) !== null || (error instanceof McpRefused && error.unexecuted && !ABOUT_CALLER.has(error.status));

/** Returns how long a server is asked, so that half of its time remains for the handshake, if there may be one. */
const findLimit = ({ target, ports, connect_ms }: Opening, usual_ms: number): number =>
  findChoice(target).is_required ? connect_ms : Math.min(ports.discover_ms ?? usual_ms, connect_ms / 2);

/** Returns the value of a promise; null if it is not resolved within the time. */
async function unlessLate<T>(promise: Promise<T>, most_ms: number): Promise<T | null> {
  const early = new AbortController();
  const late = wait(most_ms, null, { signal: early.signal }).catch(() => null);
  return Promise.race([promise, late]).finally(() => early.abort());
}

const toFacts = ({ version }: Opening): ClientFacts => ({
  info: { name: 'perdura', version },
  capabilities: STATELESS_CAPABILITIES,
});

async function connectStateless(opening: Opening, transport: Transport, discover: DiscoverResult): Promise<OpenedClient> {
  transport.onclose = undefined;
  keepRawResults(transport);
  const client = createClient(opening, STATELESS_CAPABILITIES);
  await client.connect(transport, { prior: { kind: 'modern', discover } });
  return { client, transport, is_stateless: true };
}

async function connectWithHandshake(opening: Opening, transport: Transport): Promise<OpenedClient> {
  tidyFirstResult(transport);
  const client = createClient(opening, CAPABILITIES);
  // The client limits only its wait for the reply to `initialize`, not the wait for an event stream, nor that of later
  // requests.
  await client.connect(transport, { timeout: opening.connect_ms });
  return { client, transport, is_stateless: false };
}

function createClient({ version, prepare }: Opening, capabilities: ClientCapabilities): Client {
  const client = new Client({ name: 'perdura', version }, { capabilities });
  prepare(client);
  return client;
}

/** Repairs the answer to `initialize`, which is the first result that a server sends in a session. */
function tidyFirstResult(transport: Transport): void {
  const { onmessage } = transport;
  let is_first = true;
  transport.onmessage = (message: JSONRPCMessage) => {
    onmessage?.(message);
    if (!is_first || !('result' in message) || isDiscovery(message)) return;
    is_first = false;
    tidyInitialized(message as { result: Record<string, unknown> });
  };
}
