import pg from 'pg';
import { buildClientConfig, SESSION } from './database.ts';

/** Postgres does not accept connections from here. The message is a sentence with its address and its answer. */
export class DatabaseUnreachable extends Error {}

interface Connecting {
  /** The name of the setting that holds the address. */
  setting?: string;
  session?: pg.PoolConfig;
}

/** Opens a connection that is ready for statements. Throws `DatabaseUnreachable` if it cannot. */
export async function openConnection(
  url: string,
  name: string,
  { setting = 'DATABASE_URL', session = {} }: Connecting = {},
): Promise<pg.Client> {
  try {
    const client = new pg.Client({ ...buildClientConfig(url, name), ...session });
    // An error after a failed attempt adds no information.
    client.on('error', () => {});
    await client.connect();
    return client;
  } catch (error) {
    throw new DatabaseUnreachable(
      `Postgres at ${describeAddress(url)} cannot be used (${setting}): ${describeConnectionError(error)}`,
    );
  }
}

/** Throws `DatabaseUnreachable` if the database does not accept connections, or does not accept those of the pool. */
export async function requireReachable({ database_url, direct_database_url }: Addresses): Promise<void> {
  const session = direct_database_url === null ? SESSION : {};
  const client = await openConnection(database_url, 'perdura start', { session });
  await client.end();
  if (direct_database_url === null) return;
  const direct = await openConnection(direct_database_url, 'perdura start', { setting: 'DATABASE_DIRECT_URL' });
  await direct.end();
}

interface Addresses {
  database_url: string;
  direct_database_url: string | null;
}

function describeAddress(text: string): string {
  if (!URL.canParse(text)) return 'its socket';
  const url = new URL(text);
  return `${url.searchParams.get('host') ?? url.hostname}:${url.port || 5432}, database ${url.pathname.slice(1)},`;
}

/** Describes why a connection failed. An attempt at several addresses fails with all of their errors and no message. */
function describeConnectionError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(({ message }: Error) => message).join('; ');
  const { code, message } = error as NodeJS.ErrnoException;
  if (/unsupported startup parameter/.test(message)) return `${message}; ${POOLER}`;
  return UNTRUSTED.has(code ?? '') ? `${message}; ${AUTHORITY}` : message;
}

const POOLER = 'if this is a pooler, set DATABASE_DIRECT_URL to the address of Postgres itself (docs/operations.md)';
const AUTHORITY = 'sslrootcert in its URL, or NODE_EXTRA_CA_CERTS, must name the certificate of the authority that signed it';

/** Node's codes for a certificate of an authority that it does not know. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);
