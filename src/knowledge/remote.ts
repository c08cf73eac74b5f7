import { isIP } from 'node:net';
import pg from 'pg';
import { postgresPlace, qdrantBase } from '../domain/remote-address.ts';

/** A source in another database, with its secrets filled in. */
export interface RemoteSource {
  source_type: string;
  connection_config: Record<string, unknown>;
}

interface RemoteHit {
  content: string;
  name: string | null;
  score: number;
}

export interface RemotePorts {
  /** A `fetch` that is guarded by egress rules, because users set the addresses. */
  fetch: typeof globalThis.fetch;
  /** Returns the address to connect to for a host; throws a sentence if it is not allowed. */
  resolveAddress(hostname: string, port: number): Promise<string>;
}

const TIMEOUT_MS = 10_000;

/** Returns the texts in another database that are nearest to a vector. Throws a sentence if it cannot be searched. */
export async function searchRemote(
  source: RemoteSource,
  vector: readonly number[],
  { limit, ports }: { limit: number; ports: RemotePorts },
) {
  return source.source_type === 'vector_db'
    ? searchQdrant(source, vector, { limit, ports })
    : searchPgvector(source, vector, { limit, ports });
}

const text = (config: Record<string, unknown>, field: string, fallback = ''): string => {
  const value = config[field] ?? fallback;
  if (typeof value !== 'string' || value === '') throw new Error(`connection_config.${field} is missing`);
  return value;
};

async function searchQdrant(
  { connection_config: config }: RemoteSource,
  vector: readonly number[],
  { limit, ports }: { limit: number; ports: RemotePorts },
): Promise<RemoteHit[]> {
  const url = `${place('url', () => qdrantBase(text(config, 'url')))}/collections/${encodeURIComponent(text(config, 'collection'))}/points/query`;
  const key = typeof config.api_key === 'string' && config.api_key ? { 'api-key': config.api_key } : {};
  const response = await ports.fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key },
    body: JSON.stringify({ query: vector, limit, with_payload: true }),
    // The target of a redirect would receive the key.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`The vector database answered ${response.status}`);
  const { result } = (await response.json()) as {
    result?: { points?: { score: unknown; payload?: Record<string, unknown> | null }[] };
  };
  const field = text(config, 'text_field', 'text');
  return (result?.points ?? []).flatMap(({ score, payload }) =>
    toHits({ content: payload?.[field], name: payload?.name, score }),
  );
}

/** Converts a record to a hit. Leaves it out if its text or score is missing or has another type. */
function toHits({ content, name, score }: { [K in keyof RemoteHit]: unknown }): RemoteHit[] {
  if (typeof content !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) return [];
  return [{ content, name: typeof name === 'string' ? name : null, score }];
}

async function searchPgvector(
  { connection_config: config }: RemoteSource,
  vector: readonly number[],
  { limit, ports }: { limit: number; ports: RemotePorts },
): Promise<RemoteHit[]> {
  const { host, port, user, password, database, tls } = place('url', () => postgresPlace(text(config, 'url')));
  const address = await ports.resolveAddress(host, port);
  const table = text(config, 'table').split('.').map(pg.escapeIdentifier).join('.');
  const [content, embedding] = [text(config, 'text_column', 'content'), text(config, 'embedding_column', 'embedding')].map(
    pg.escapeIdentifier,
  );
  const client = new pg.Client({
    host: address,
    port,
    user,
    database,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    // This is a function because the client would look up an empty password in the service's environment and home.
    password: () => password,
    ssl: tls !== null && { rejectUnauthorized: tls.verify, ...(isIP(bare(host)) === 0 ? { servername: host } : {}) },
  });
  // If the connection breaks later, the pending query fails.
  client.on('error', () => {});
  try {
    await client.connect();
    const sql = `SELECT ${content} AS content, 1 - (${embedding} <=> $1::vector) AS score FROM ${table} ORDER BY ${embedding} <=> $1::vector LIMIT $2`;
    const { rows } = await client.query<{ content: unknown; score: unknown }>(sql, [`[${vector.join(',')}]`, limit]);
    return rows.flatMap((row) => toHits({ ...row, name: null }));
  } finally {
    await client.end().catch(() => {});
  }
}

const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1');

function place<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`connection_config.${field}: ${(error as Error).message}`);
  }
}
