import { access } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import type { Warning } from '../../contracts/common.ts';
import type { McpEntry } from '../../contracts/mcp-entries.ts';
import { McpServerCreate } from '../../contracts/mcps.ts';
import { isTemplate, mapTexts } from '../../domain/secrets.ts';
import { findLauncher, parsePackageLaunch } from '../../tools/mcp/packages/launch.ts';
import { parseValue } from '../http/validate.ts';
import type { McpProbe } from '../ports.ts';

/** Parses an entry of the common `mcpServers` JSON: a local program if it has a command, a remote server if it has a URL. */
export function parseEntry(name: string, entry: McpEntry) {
  const { command, args = [], env = {}, url, headers = {}, disabled = false, allowed_tools = [] } = entry;
  const connection_config = command ? { command, args, env } : { url, headers };
  return parseValue(
    McpServerCreate,
    { name, transport_type: toTransport(entry), connection_config, is_enabled: !disabled, allowed_tools },
    name,
  );
}

const getTransport = ({ type, transport = type }: McpEntry) => transport;

export const toTransport = (entry: McpEntry) => (entry.command ? 'stdio' : getTransport(entry) === 'sse' ? 'sse' : 'http');

/** Other clients' names of the transports. */
const KINDS = ['stdio', 'sse', 'http', 'streamable-http', 'streamable_http', 'streamablehttp', 'streamableHttp'];

/** Commands that start a program which they download, or which lives outside the sandbox. */
const DOWNLOADERS = ['npm', 'pnpm', 'bunx', 'uv', 'pipx'];
const ENGINES = ['docker', 'podman'];
const describeLaunchProblem = (command: string): string | null => {
  if (DOWNLOADERS.includes(command))
    return 'downloads the program that it starts, and a server starts without network: install the program, name its directory in `paths`, and start it directly, or turn `network` on';
  if (ENGINES.includes(command))
    return 'cannot start containers inside the sandbox: run the container elsewhere and use its URL, or start its program directly';
  return null;
};

/** A placeholder that other clients fill in, in the manner of shells, of Windows, of opencode and of templates; or a person. */
const PLACEHOLDER =
  /\$\{[^}$]+\}|(?<![\w$])\$[A-Z_][A-Z0-9_]+\b|%[A-Z_][A-Z0-9_]{2,}%|\{(?:env|file):[^{}]+\}|\{\{(?!\s*token:)[^{}]+\}\}|<[A-Za-z][\w -]*>/;
const LOCAL_PATH = /^(?:\/|~\/|[A-Za-z]:\\)/;

/** Warns about parts of an entry that will not work here as they did in its original client. None of them causes a refusal. */
export async function listEntryWarnings(
  name: string,
  entry: McpEntry,
  mcp: Pick<McpProbe, 'pathRefusal' | 'starts_stdio'>,
): Promise<Warning[]> {
  const createWarning = (path: string, message: string): Warning => ({ path: `mcpServers.${name}.${path}`, message });
  const kind = getTransport(entry);
  const { command, args = [], url } = entry;
  const warnings: Warning[] = [];
  if (kind !== undefined && !KINDS.includes(kind))
    warnings.push(createWarning('type', `\`${kind}\` is not a transport here; the entry is imported as ${toTransport(entry)}`));
  if (kind === 'sse' && !command)
    warnings.push(
      createWarning(
        'type',
        '`sse` is the older transport: it works here; set the transport to http if the server has streamable HTTP',
      ),
    );
  if (command && url) warnings.push(createWarning('url', 'The entry has a command, too, which is used; the URL is ignored'));
  if (command && !mcp.starts_stdio)
    warnings.push(
      createWarning(
        'command',
        'This installation starts no commands for MCP servers; the operator enables them with ALLOW_STDIO_MCP',
      ),
    );
  if (command)
    warnings.push(...(await listCommandProblems(command, args, mcp)).map((message) => createWarning('command', message)));
  for (const [index, path] of args.entries())
    if (command && LOCAL_PATH.test(path)) warnings.push(createWarning(`args.${index}`, await describePathProblem(path, mcp)));
  const { disabled: _, ...texts } = entry;
  mapTexts(texts, (text, { path }) => {
    // The text itself may be secret.
    if (PLACEHOLDER.test(text))
      warnings.push(
        createWarning(
          path,
          'Its placeholder is not filled in here: store the value as a token, and write {{token:NAME}} instead',
        ),
      );
    return text;
  });
  for (const field of ['headers', 'env'] as const) {
    const literals = Object.entries(entry[field] ?? {}).filter(
      ([, text]) => text && !isTemplate(text) && !PLACEHOLDER.test(text),
    );
    if (literals.length > 0) warnings.push(createWarning(field, describeStoredValues(literals.map(([key]) => key))));
  }
  return warnings;
}

const describeStoredValues = (names: string[]) =>
  `The values of ${names.join(', ')} are stored encrypted with the server, and are sent for everybody whose agents use it; to decide who may, store them as tokens and write {{token:NAME}}`;

/** The folders in which the sandbox looks for a command. */
const PROGRAMS = ['/usr/local/bin', '/usr/bin', '/bin'];

type Paths = Pick<McpProbe, 'pathRefusal'>;

async function listCommandProblems(command: string, args: string[], mcp: Paths): Promise<string[]> {
  if (PLACEHOLDER.test(command)) return [];
  if (isAbsolute(command) && !PROGRAMS.includes(dirname(command))) return [await describePathProblem(command, mcp)];
  const launched = describeLaunchProblem(command);
  if (findLauncher(command)) return listPackageProblems(command, args);
  const places = isAbsolute(command) ? [command] : PROGRAMS.map((folder) => join(folder, command));
  const is_installed = (await Promise.all(places.map(exists))).includes(true);
  return [
    ...(is_installed ? [] : [`There is no command ${command} on this machine`]),
    ...(launched ? [`\`${command}\` ${launched}`] : []),
  ];
}

const EXACT = /^v?\d+\.\d[\w.+-]*$/;
const namesVersion = (spec: string) => EXACT.test(spec.slice(1).split(/@|==/).at(-1) as string);

/** Lists the problems of a command whose package is installed before its first start. */
function listPackageProblems(command: string, args: string[]): string[] {
  const launch = parsePackageLaunch(command, args);
  if (!launch)
    return [
      `\`${command}\` is started here only with the name of a package in a registry: \`npx -y NAME@VERSION …\` or \`uvx NAME@VERSION …\`; other forms need \`network\`, and download at each start`,
    ];
  const [first = ''] = launch.specs;
  return namesVersion(first)
    ? []
    : [`${first} names no exact version: the one that is installed first stays until it is cleared (perdura mcp-packages clear)`];
}

/** Describes the problem of a path. Reveals whether a path exists only for paths that the operator allows. */
async function describePathProblem(path: string, mcp: Paths): Promise<string> {
  if (!isAbsolute(path)) return `${path} is a path of another machine`;
  const refusal = await mcp.pathRefusal(path);
  if (refusal) return refusal;
  return (await exists(path))
    ? `The server sees ${path} only if its \`paths\` name it`
    : `There is nothing at ${path} on this machine`;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
