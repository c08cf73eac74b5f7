/** A Postgres server to connect to. Plain values instead of a connection string, so nothing else decides where the connection goes. */
interface PostgresPlace {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** The TLS settings, and whether the certificate must match the host; null: no TLS. */
  tls: { verify: boolean } | null;
}

const POSTGRES_PORT = 5432;
const HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])$/i;
const TLS: Record<string, PostgresPlace['tls']> = {
  disable: null,
  'no-verify': { verify: false },
  prefer: { verify: true },
  require: { verify: true },
  'verify-ca': { verify: true },
  'verify-full': { verify: true },
};
const SHAPE = 'postgres://user:password@host:5432/database?sslmode=require';

/** Parses a `postgres://` URL. Throws a sentence, without the URL's secrets, for anything it does not support. */
export function postgresPlace(text: string): PostgresPlace {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) throw new Error(`Not the URL of a Postgres server; write ${SHAPE}`);
  if (!HOST.test(url.hostname))
    throw new Error(
      `The URL must have one host, as a name or address; sockets and lists of hosts are not supported. Write ${SHAPE}`,
    );
  if (url.port === '0' || url.hash) throw new Error(`The URL has port 0 or a part after #. Write ${SHAPE}`);
  const [user, password] = [decodePart('user', url.username), decodePart('password', url.password)];
  if (user === '') throw new Error(`The URL has no user. Write ${SHAPE}`);
  const database = decodePart('database', url.pathname.slice(1));
  if (url.pathname.slice(1).includes('/')) throw new Error(`The URL must have one database. Write ${SHAPE}`);
  return {
    host: url.hostname,
    port: Number(url.port) || POSTGRES_PORT,
    user,
    password,
    database: database || user,
    tls: parseTls(url),
  };
}

function parseTls({ searchParams }: URL): PostgresPlace['tls'] {
  const unknown = [...new Set(searchParams.keys())].filter((name) => name !== 'sslmode');
  if (unknown.length > 0) throw new Error(`The parameter ${unknown.join(', ')} is not supported; only sslmode is`);
  const modes = searchParams.getAll('sslmode');
  if (modes.length === 0) return null;
  const [mode = ''] = modes;
  if (modes.length > 1 || !Object.hasOwn(TLS, mode)) throw new Error(`sslmode must be one of ${Object.keys(TLS).join(', ')}`);
  return TLS[mode] ?? null;
}

/** Decodes a part of the URL. Throws for control characters: one could start another connection parameter. */
function decodePart(name: string, text: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch {
    throw new Error(`The ${name} is not percent-encoded correctly`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\0-\x1f\x7f]/.test(value)) throw new Error(`The ${name} has control characters`);
  return value;
}

/** Parses the address of a Qdrant server, without a slash at the end. Throws a sentence for anything it does not support. */
export function qdrantBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('Not an http or https URL');
  if (url.username || url.password) throw new Error('The URL has credentials; use api_key instead');
  if (url.search || url.hash) throw new Error('The URL has a part after ? or #, which is not supported');
  return `${url.origin}${withoutSlashes(url.pathname)}`;
}

const READERS: Record<string, (text: string) => unknown> = { vector_db: qdrantBase, pgvector: postgresPlace };
const TEMPLATES = /\{\{token:[\w.-]+\}\}/g;

/**
 * Returns the fault of an external knowledge source's address as far as it is known; null if there is none. An address that is
 * masked, or is a stored token as a whole, is checked when it is used.
 */
export function remoteAddressRefusal(source_type: string, url: unknown, mask: string): string | null {
  const read = READERS[source_type];
  if (!read || url === undefined || url === mask) return null;
  if (typeof url !== 'string') return 'Not a text';
  if (url !== '' && url.replaceAll(TEMPLATES, '') === '') return null;
  try {
    read(url.replaceAll(TEMPLATES, 'x'));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Returns a URL or path without the slashes at its end. The look-behind keeps the time in proportion to the length. */
export const withoutSlashes = (url: string): string => url.replace(/(?<!\/)\/+$/, '');
