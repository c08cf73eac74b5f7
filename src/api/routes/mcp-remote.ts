import type { McpEntry } from '../../contracts/mcp-entries.ts';

/** Commands that start a package, with the words that some of them have before its name. */
const RUNNERS = /^(?:.*[\\/])?(?:npx|bunx|bun|npm|pnpm|yarn|node|mcp-remote)$/;
const PROGRAM = /^(?:(?!@).*[\\/])?mcp-remote(?:@[\w.^~+-]+)?(?:[\\/]dist[\\/]proxy\.js)?$/;

/** An address is not a program, even if its path ends like one. */
const isProgram = (word: string): boolean => PROGRAM.test(word) && !/^https?:/i.test(word);

/** Options of mcp-remote that concern its own process alone. */
const WITHOUT_EFFECT = ['--allow-http', '--debug', '--silent', '--enable-proxy', '--host', '--auth-timeout'];
/** Options that a value follows, apart from those that are converted. */
const WITH_VALUE = [
  ...['--host', '--auth-timeout', '--ignore-tool', '--resource'],
  ...['--static-oauth-client-metadata', '--static-oauth-client-info'],
];

interface Conversion {
  entry: McpEntry;
  /** What the server does not have here, and the field that said it. */
  problems: { field: string; message: string }[];
}

/**
 * Converts an entry that runs mcp-remote, which connects programs without HTTP to a server with it, to an entry with the server's
 * URL and headers. Any other entry stays as it is.
 */
export function convertMcpRemote(entry: McpEntry): Conversion {
  const { command = '', args = [], env = {}, url, headers, type: _type, transport: _transport, ...rest } = entry;
  const words = [command, ...args];
  const start = RUNNERS.test(command) ? words.findLastIndex(isProgram) : -1;
  if (start < 0) return { entry, problems: [] };
  const options = parseOptions(words.slice(start + 1), env);
  if (!options.url) {
    const message =
      'mcp-remote is given no http:// or https:// address here: replace the entry by one with the `url` of its server';
    return { entry, problems: [{ field: 'args', message }] };
  }
  const unused = Object.keys(env).filter((name) => !options.used_names.has(name));
  const all_headers = { ...headers, ...options.headers };
  return {
    entry: {
      ...rest,
      type: isSse(options) ? 'sse' : 'http',
      url: options.url,
      ...(Object.keys(all_headers).length > 0 ? { headers: all_headers } : {}),
    },
    problems: [
      ...options.unknown.map((name) => ({
        field: 'args',
        message: `${name} of mcp-remote has no effect: the server is connected without it; see its tools, headers and sign-in here`,
      })),
      ...(unused.length > 0
        ? [
            {
              field: 'env',
              message: `${unused.join(', ')} has no effect: no program is started, the server is connected at its URL`,
            },
          ]
        : []),
    ],
  };
}

interface Options {
  url?: string | undefined;
  transport?: string | undefined;
  headers: Record<string, string>;
  /** Options that are not converted. */
  unknown: string[];
  /** The variables that the options contain. */
  used_names: Set<string>;
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** Parses `Name: value`; null if the text has another form. */
function parseHeader(text: string): { header: string; value: string } | null {
  const colon = text.indexOf(':');
  const header = text.slice(0, Math.max(0, colon)).trim();
  return HEADER_NAME.test(header) ? { header, value: text.slice(colon + 1).trimStart() } : null;
}

function parseOptions(words: readonly string[], env: Record<string, string>): Options {
  const options: Options = { headers: {}, unknown: [], used_names: new Set() };
  const fill = (text: string) =>
    text.replaceAll(/\$\{([^}]+)\}/g, (placeholder, name: string) => {
      if (!Object.hasOwn(env, name)) return placeholder;
      options.used_names.add(name);
      return env[name]!;
    });
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [name = '', inline_value] = word.split(/=(.*)/s);
    const takeValue = () => inline_value ?? rest.shift() ?? '';
    if (!word.startsWith('-')) {
      if (/^https?:\/\//i.test(fill(word))) options.url ??= fill(word);
      // The only other word is the port of the sign-in.
      else if (!/^\d+$/.test(word)) options.unknown.push('A word');
    } else if (name === '--header') {
      const parsed = parseHeader(fill(takeValue()));
      if (parsed) options.headers[parsed.header] = parsed.value;
      else options.unknown.push(name);
    } else if (name === '--transport') options.transport = takeValue();
    else {
      if (!WITHOUT_EFFECT.includes(name)) options.unknown.push(name.slice(0, 100));
      if (WITH_VALUE.includes(name)) takeValue();
    }
  }
  return options;
}

/** Without the option, mcp-remote tries both transports. By custom, the address of the older one ends in /sse. */
const isSse = ({ url = '', transport = '' }: Options) =>
  transport.startsWith('sse-') || (transport === '' && /\/sse\/?(?:[?#]|$)/.test(url));
