import { DatabaseError } from 'pg';
import { findOutage, type Outage, OutageError } from '../../domain/outages.ts';

const createUnavailable = (sentence: string): Outage => ({ code: 'database_unavailable', sentence });

const UNREACHABLE = createUnavailable('The database is unreachable');
const SLOW = createUnavailable('The database did not answer in time');
const BUSY = createUnavailable('The database had to break off competing statements');
const REFUSED = createUnavailable('The database refuses the user of DATABASE_URL');
const RIGHTS = createUnavailable('The user of DATABASE_URL lacks rights in the database');
const SCHEMA = createUnavailable(
  'The database lacks tables, columns or functions of this version: restore it, or run `perdura migrate`',
);
const POOLER = createUnavailable(
  'The database lost a prepared statement: if DATABASE_URL is the address of a pooler, set DATABASE_DIRECT_URL to that of Postgres itself',
);
const POOL: Outage = { code: 'too_many_connections', sentence: 'All database connections of this process are in use' };
const CONNECTIONS: Outage = { code: 'too_many_connections', sentence: 'The database has too many connections' };
const DISK: Outage = { code: 'disk_full', sentence: 'The disk is full: the database has no room left to write' };
const MEMORY: Outage = { code: 'out_of_memory', sentence: 'The database is out of memory' };

/**
 * SQLSTATE classes of errors in the statement or its values: it would fail in the same way again, whatever state the installation
 * is in. Every other class is an outage, even if `SENTENCES` lacks it.
 */
const OF_STATEMENTS = new Set(['20', '21', '22', '23', '24', '2F', '34', '38', '39', '42', '44', '54', 'P0']);

/** The description of an outage, by SQLSTATE or by the class that it begins with. The longest match applies. */
const SENTENCES: Record<string, Outage> = {
  '08': UNREACHABLE,
  '0A000': createUnavailable('The database changed while this statement was prepared'),
  '25006': createUnavailable('The database accepts no writes now'),
  '26': POOLER,
  '28': REFUSED,
  '28P01': createUnavailable('The database refuses the password of DATABASE_URL'),
  '3D000': createUnavailable('The database that DATABASE_URL names does not exist'),
  '40': BUSY,
  '53': UNREACHABLE,
  '53100': DISK,
  '53200': MEMORY,
  '53300': CONNECTIONS,
  '55P03': createUnavailable('The database waited longer for a lock than its lock_timeout allows'),
  '57014': createUnavailable('The database broke a statement off: it was cancelled, or ran longer than statement_timeout allows'),
  '57P': UNREACHABLE,
  '57P03': createUnavailable('The database is starting or stopping'),
  '58': createUnavailable('The database cannot read or write its files'),
  XX001: createUnavailable('The database reports damaged files'),
  XX002: createUnavailable('The database reports a damaged index'),
};

/**
 * Outages among the classes of statements: our statements are constant and work, so these errors mean that the installation has
 * changed.
 */
const ALSO: Record<string, Outage> = {
  '42501': RIGHTS,
  '42P01': SCHEMA,
  '42703': SCHEMA,
  '42883': SCHEMA,
  '42P05': POOLER,
};

function ofState(state: string): Outage | null {
  if (Object.hasOwn(ALSO, state)) return ALSO[state] as Outage;
  if (OF_STATEMENTS.has(state.slice(0, 2))) return null;
  const code = [state, state.slice(0, 3), state.slice(0, 2)].find((name) => Object.hasOwn(SENTENCES, name));
  return code ? (SENTENCES[code] as Outage) : createUnavailable(`The database does not serve now (SQLSTATE ${state})`);
}

/**
 * The description of a failed connection, by the code or the message of Node and `pg`. Any other failure is an outage as well.
 */
const CONNECTING: [RegExp, (reason: string) => Outage][] = [
  [/^timeout exceeded when trying to connect/, () => POOL],
  [
    /does not support SSL|error establishing an SSL/,
    () => createUnavailable('The database offers no TLS, which DATABASE_URL asks for'),
  ],
  [
    /CERT|^SELF_SIGNED|^UNABLE_TO_(?:GET|VERIFY)|^HOSTNAME_MISMATCH/,
    (reason) =>
      createUnavailable(
        `The certificate of the database is not trusted: ${reason}; sslrootcert in DATABASE_URL names the authority`,
      ),
  ],
  [/^ERR_SSL|^ERR_TLS|^EPROTO/, (reason) => createUnavailable(`The database refuses TLS: ${reason}`)],
  [/^ENOTFOUND|^EAI_/, () => createUnavailable('The host of DATABASE_URL cannot be resolved to an address')],
  [/^ETIMEDOUT|timeout expired|connection timeout/, () => SLOW],
  [
    /password must be a string|no password/,
    () => createUnavailable('The database asks for a password, and DATABASE_URL has none'),
  ],
  [/^E[A-Z]+$/, () => UNREACHABLE],
];

/** Converts an error that occurred while opening a connection, or waiting for one of the pool. It is always an outage. */
export function connectionOutage(error: unknown): OutageError {
  if (error instanceof OutageError) return error;
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (first instanceof DatabaseError && first.code) {
    const outage = ofState(first.code) ?? UNREACHABLE;
    return new OutageError(outage === RIGHTS ? REFUSED : outage, error);
  }
  const { code = '', message = '' } = (first ?? {}) as { code?: string; message?: string };
  const own = findOutage(error);
  const match = CONNECTING.find(([pattern]) => pattern.test(code) || pattern.test(message));
  return new OutageError(own ?? match?.[1](message) ?? UNREACHABLE, error);
}

/** `pg` gives this error no code. */
const LATE = /^Query read timeout/;

/**
 * Converts an error of a statement: returns it unchanged if it is about the statement, otherwise as an outage. `broken`: its
 * connection can no longer be used.
 */
export function statementError(error: unknown, broken: boolean): unknown {
  if (error instanceof DatabaseError) {
    const outage = ofState(error.code ?? '');
    return outage ? new OutageError(outage, error) : error;
  }
  if (error instanceof Error && LATE.test(error.message)) return new OutageError(SLOW, error);
  return broken ? connectionOutage(error) : error;
}
