import type { Warning } from '../../contracts/common.ts';
import { type McpEntry, McpEntry as McpEntrySchema } from '../../contracts/mcp-entries.ts';
import { unprocessable } from '../../domain/errors.ts';
import { isExactNumber } from '../../domain/exact-json.ts';
import { isRecord } from '../../domain/records.ts';
import { findUnknownFields } from '../http/fields.ts';
import { parseValue } from '../http/validate.ts';
import { convertMcpRemote } from './mcp-remote.ts';

type Json = Record<string, unknown>;

/** Where programs keep their servers: the common name, VS Code, opencode and settings of VS Code, Zed, Codex, Goose. */
const PLACES: Record<string, string[][]> = {
  mcpServers: [[]],
  servers: [[]],
  mcp: [['servers'], ['mcpServers'], []],
  context_servers: [[]],
  mcp_servers: [[]],
  extensions: [[]],
};

/** Returns the name of a place without that of its program, which some programs write before it, as in `amp.mcpServers`. */
const getPlaceName = (key: string): string => key.split('.').at(-1)!;

const SPELLINGS: Record<string, string[]> = {
  url: ['serverUrl', 'httpUrl', 'server_url', 'uri', 'endpoint'],
  env: ['environment', 'envs'],
  headers: ['http_headers', 'httpHeaders'],
  type: ['transportType', 'transport_type'],
  command: ['cmd'],
  allowed_tools: ['allowedTools', 'enabled_tools', 'includeTools', 'available_tools'],
};

/** opencode's names of the transports. */
const KINDS_ELSEWHERE = new Map<unknown, string>([
  ['local', 'stdio'],
  ['remote', 'http'],
]);

type NamedEntries = [name: string, entry: unknown][];

/**
 * Finds the servers of a configuration by their names, in every common spelling; the values are not checked. `unread`: what the
 * configuration has besides them. Throws if there are no servers.
 */
export function findMcpServers(body: Json): { servers: NamedEntries; unread: string[] } {
  const keys = Object.keys(PLACES).flatMap((place) =>
    Object.keys(body).filter((key) => getPlaceName(key) === place && !isServerAlone(body[key])),
  );
  const places = keys.flatMap((key) => {
    const servers = listServersAt(getPlaceName(key), body[key]);
    return servers ? [{ key, servers }] : [];
  });
  const used = places.map(({ key }) => key);
  if (used.length > 0)
    return { servers: places.flatMap(({ servers }) => servers), unread: Object.keys(body).filter((key) => !used.includes(key)) };
  const entries = Object.entries(body);
  if (entries.length > 0 && entries.every(([, entry]) => isServer(entry))) return { servers: entries, unread: [] };
  const message =
    'The servers are missing: send them under `mcpServers` (or `servers`, `mcp`, `context_servers`), by their names';
  throw unprocessable([{ path: 'mcpServers', message }]);
}

function listServersAt(place: string, value: unknown): NamedEntries | null {
  for (const path of PLACES[place]!) {
    const found = path.reduce<unknown>((outer, name) => Object(outer)[name], value);
    if (isRecord(found)) return Object.entries(found);
    if (Array.isArray(found)) return found.map((entry, index) => [String(Object(entry).name ?? index), entry]);
  }
  return null;
}

const isServer = (entry: unknown) => isRecord(entry) && ['command', 'url', ...SPELLINGS.url!].some((field) => field in entry);

/** True for a server, which may have the name of a place; false for a place whose servers have the names of fields. */
const isServerAlone = (value: unknown) => isServer(value) && !Object.values(value as Json).every(isServer);

interface ReadEntry {
  entry: McpEntry;
  /** Fields of the entry that no server has here. */
  warnings: Warning[];
}

/** Returns one server in the common spelling; throws a sentence if it is not one. */
export function parseMcpEntry(name: string, raw: unknown): ReadEntry {
  if (!isRecord(raw)) throw unprocessable([{ path: name, message: 'A server is an object with `command` or `url`' }]);
  const respelled = respell(raw);
  const { entry, problems } = convertMcpRemote(parseValue(McpEntrySchema, respelled, name));
  const unknown = findUnknownFields(McpEntrySchema, respelled);
  return {
    entry,
    warnings: [...unknown, ...problems.map(({ field, message }) => ({ path: field, message }))].map(({ path, message }) => ({
      path: `mcpServers.${name}.${path}`,
      message,
    })),
  };
}

function respell({ name: _name, source: _source, transport, ...raw }: Json): Json {
  const flat: Json = isRecord(transport)
    ? { ...raw, ...transport }
    : { ...raw, ...(transport === undefined ? {} : { transport }) };
  // Goose writes the empty list if all tools are allowed.
  if (Array.isArray(flat.available_tools) && flat.available_tools.length === 0) delete flat.available_tools;
  for (const [field, spellings] of Object.entries(SPELLINGS))
    for (const spelling of spellings) {
      if (flat[spelling] === undefined) continue;
      flat[field] = mergeSpellings(flat[field], flat[spelling]);
      delete flat[spelling];
    }
  const options = [flat.requestOptions, flat.requestInit].find(isRecord);
  flat.headers ??= options?.headers;
  const { enabled, isActive, disabled, command, args, env, headers, type, requestOptions: _o, requestInit: _i, ...rest } = flat;
  const off = toFlag(disabled) === true || toFlag(enabled) === false || toFlag(isActive) === false;
  return {
    ...withAllowedTools(rest),
    ...(type === undefined ? {} : { type: toKind(type) }),
    ...toCommand(command, args, env),
    ...(isRecord(headers) ? { headers: toTexts(headers) } : headers === undefined ? {} : { headers }),
    ...(off ? { disabled: true } : {}),
  };
}

/** Returns the name of a transport; that of another program is replaced. */
const toKind = (type: unknown): unknown => {
  const kind = typeof type === 'string' ? type.toLowerCase() : type;
  return KINDS_ELSEWHERE.get(kind) ?? (kind === 'sse' || kind === 'http' || kind === 'stdio' ? kind : type);
};

/** Reads `tools` of Copilot as the list of allowed tools; `*` allows all. */
function withAllowedTools({ tools, allowed_tools, ...rest }: Json): Json {
  const fields = allowed_tools === undefined || allowed_tools === null ? rest : { ...rest, allowed_tools };
  if (tools === undefined || tools === null) return fields;
  if (!Array.isArray(tools)) return { tools, ...fields };
  return tools.includes('*') ? fields : { allowed_tools: tools, ...fields };
}

/** Joins two spellings of one field: maps with each other, otherwise the first that is not empty. */
const mergeSpellings = (one: unknown, other: unknown): unknown =>
  isRecord(one) && isRecord(other) ? { ...other, ...one } : one === undefined || one === null || one === '' ? other : one;

/** Reads a command: a text, a list with its arguments (opencode), or an object (Zed). */
function toCommand(command: unknown, args: unknown, env: unknown): Json {
  if (isRecord(command)) return toCommand(command.path ?? command.command, command.args ?? args, command.env ?? env);
  const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [])];
  const [program, ...rest] = withoutShell(words);
  const all = rest.map(toText);
  return {
    ...(program === undefined || program === null ? {} : { command: program }),
    ...(all.length > 0 ? { args: all } : args !== undefined && args !== null && !Array.isArray(args) ? { args } : {}),
    ...(isRecord(env) ? { env: toTexts(env) } : env === undefined || env === null ? {} : { env }),
  };
}

/** The shell of Windows, which starts scripts there, and the words before the command that it starts. */
const SHELL = /^(?:.*[\\/])?cmd(?:\.exe)?$/i;
const SWITCH = /^\/\w$/;
/** The endings by which Windows knows the programs of these names. */
const WINDOWS_PROGRAM = /^(npx|npm|node|uvx|uv|python|python3|bunx)\.(?:cmd|exe|ps1|bat)$/i;

/** Returns a command and its arguments without what only Windows needs to start it. */
function withoutShell([program, ...args]: unknown[]): unknown[] {
  if (typeof program !== 'string') return [program, ...args];
  const start = args.findIndex((arg) => !SWITCH.test(String(arg)));
  const runs = start > 0 && args.slice(0, start).some((arg) => String(arg).toLowerCase() === '/c');
  if (SHELL.test(program) && runs) return withoutShell(args.slice(start));
  return [WINDOWS_PROGRAM.exec(program)?.[1]?.toLowerCase() ?? program, ...args];
}

/** Numbers and booleans are texts in an environment and in headers; null is a value that is not set. */
const toText = (value: unknown) =>
  isExactNumber(value) ? value.rawJSON : ['number', 'boolean'].includes(typeof value) ? String(value) : value;
const toTexts = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === null ? [] : [[key, toText(value)]])));

const toFlag = (value: unknown) =>
  typeof value === 'string' ? { true: true, false: false }[value.toLowerCase()] : typeof value === 'boolean' ? value : undefined;
