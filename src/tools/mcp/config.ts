import type { PinnedMcpServer } from '../../domain/definition.ts';
import { findHeaderError } from '../../domain/header-value.ts';
import { fillTokens, listTokenNames, mapTexts } from '../../domain/secrets.ts';
import { type PackageLaunch, parsePackageLaunch } from './packages/launch.ts';

/** Opens a stored token by name; throws a sentence if it may not be used. */
export type OpenToken = (name: string) => Promise<string>;
/** The configuration of a server with its sealed values opened. */
export type OpenServerToken = (name: string, server: McpServerConfig) => Promise<string>;

/** The registration of this installation at a server's authorization server; without an id, Perdura registers itself there. */
export interface OAuthClient {
  client_id?: string;
  client_secret?: string;
  scope?: string;
}

/** A server with every template filled in, ready for a connection. It is held only in memory. */
export interface McpTarget {
  id: string;
  name: string;
  network: boolean;
  paths: string[];
  /** True if the server may ask people for secrets; absent: it may not. */
  allow_secret_questions?: true;
  /** How long a connection may take; absent: 30. */
  connect_seconds?: number;
  /** The version of the protocol in which it is spoken to; absent: the server is asked. */
  protocol?: string;
  /** True if a stdio server has a folder that outlasts its process; absent: it has none. */
  state?: true;
  endpoint:
    | { kind: 'stdio'; command: string; args: string[]; env: Record<string, string>; launch?: PackageLaunch }
    | { kind: 'http' | 'sse'; url: string; headers: Record<string, string>; oauth?: OAuthClient };
}

export type McpServerConfig = Pick<
  PinnedMcpServer,
  | 'id'
  | 'name'
  | 'transport_type'
  | 'connection_config'
  | 'network'
  | 'paths'
  | 'allow_secret_questions'
  | 'connect_seconds'
  | 'protocol'
  | 'state'
>;

/** Fills each `{{token:NAME}}` with `open`. Throws a sentence that names what is missing. */
export async function resolveTarget(server: McpServerConfig, open: OpenToken): Promise<McpTarget> {
  const { id, name, network, paths, transport_type, connect_seconds, protocol, state } = server;
  const values = new Map<string, string>();
  for (const token of listTokenNames(server.connection_config)) values.set(token, await open(token));
  const config = mapTexts(server.connection_config, (text) => fillTokens(text, values)) as Record<string, unknown>;
  const question_settings = server.allow_secret_questions ? { allow_secret_questions: true as const } : {};
  const time_limit = connect_seconds === undefined ? {} : { connect_seconds };
  const version = protocol === undefined || protocol === 'auto' ? {} : { protocol };
  const kept = state ? { state: true as const } : {};
  const place = { id, name, network, paths, ...question_settings, ...time_limit, ...version, ...kept };
  if (transport_type === 'stdio') {
    const { command, args = [], env = {} } = config as { command?: string; args?: string[]; env?: Record<string, string> };
    if (typeof command !== 'string' || command === '') throw new Error(`The MCP server ${name} has no command`);
    const stored_config = server.connection_config as { command: string; args?: unknown[] };
    const launch = parsePackageLaunch(stored_config.command, (stored_config.args ?? []).map(String));
    return {
      ...place,
      endpoint: { kind: 'stdio', command, args: args.map(String), env: toTexts(env), ...(launch && { launch }) },
    };
  }
  const { url, headers = {}, oauth } = config as { url?: string; headers?: Record<string, string>; oauth?: OAuthClient };
  if (typeof url !== 'string' || !URL.canParse(url)) throw new Error(`The MCP server ${name} has no valid url`);
  const header_texts = toTexts(headers);
  for (const [header, value] of Object.entries(header_texts)) {
    const error = findHeaderError(value, `its header ${header}`);
    if (error) throw new Error(`The MCP server ${name} cannot be called: ${error}`);
  }
  return {
    ...place,
    endpoint: { kind: transport_type === 'sse' ? 'sse' : 'http', url, headers: header_texts, ...(oauth && { oauth }) },
  };
}

const toTexts = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
