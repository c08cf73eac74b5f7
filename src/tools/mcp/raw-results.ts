import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import * as z from 'zod';

const RAW = Symbol('raw result');

/** Passes the SDK's check of every kind of result. */
const ACCEPTABLE = {
  resultType: 'complete',
  content: [],
  tools: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  prompts: [],
  messages: [],
  supportedVersions: [],
  capabilities: {},
  ttlMs: 0,
  cacheScope: 'private',
};

/**
 * Has the results of a server reach Perdura as they were sent. For servers without a handshake, the SDK's client refuses a whole
 * list because of one bad entry, a result of another type than its own, and one without a type. Perdura judges each part by itself.
 */
export function keepRawResults(transport: Transport): void {
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('result' in message) message.result = { ...ACCEPTABLE, [RAW]: message.result };
  };
}

/** The schema of any result. It returns what `keepRawResults` kept. */
export const RawResult = z.custom<object>().transform((result) => (result as { [RAW]?: object })[RAW] ?? result);
