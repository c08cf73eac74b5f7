import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type DiscoverResult,
  type Implementation,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type Transport,
} from '@modelcontextprotocol/client';
import { tidyCapabilities } from './initialize.ts';

/** The first version of the protocol without a handshake. Every request names it, and `server/discover` answers what a server has. */
export const STATELESS_VERSION = '2026-07-28';

const DISCOVERY_ID = 'perdura-discover';

/** What the client says about itself. */
export interface ClientFacts {
  info: Implementation;
  capabilities: ClientCapabilities;
}

/**
 * Asks a server over a started transport if it speaks the version without a handshake. Resolves with what the server has; null
 * if it answers anything else, or closes the connection. Servers of older versions answer with an error, or never. Rejects if the
 * request cannot be sent, or the server refuses it.
 */
export function requestDiscovery(transport: Transport, facts: ClientFacts): Promise<DiscoverResult | null> {
  const { promise, resolve, reject } = Promise.withResolvers<DiscoverResult | null>();
  transport.onmessage = (message: JSONRPCMessage) => {
    if (!isDiscovery(message)) return;
    resolve(isJSONRPCResultResponse(message) ? readDiscovery(message.result) : null);
  };
  transport.onclose = () => resolve(null);
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: STATELESS_VERSION,
    [CLIENT_INFO_META_KEY]: facts.info,
    [CLIENT_CAPABILITIES_META_KEY]: facts.capabilities,
  };
  const request = { jsonrpc: '2.0' as const, id: DISCOVERY_ID, method: 'server/discover', params: { _meta } };
  transport.send(request).catch(reject);
  return promise;
}

/** True if a message answers `requestDiscovery`; the answer may be late. */
export const isDiscovery = (message: JSONRPCMessage): boolean =>
  (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id === DISCOVERY_ID;

/** Returns what a server has, as far as Perdura reads it; null if the server does not speak the version. */
function readDiscovery(result: unknown): DiscoverResult | null {
  const { supportedVersions, capabilities } = result as { supportedVersions?: unknown; capabilities?: unknown };
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(STATELESS_VERSION)) return null;
  return { supportedVersions: [STATELESS_VERSION], capabilities: tidyCapabilities(capabilities) };
}
