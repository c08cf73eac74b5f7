/** A state of the installation, not a fault of a run or request: whatever it stopped is tried again. */
interface Outage {
  /** Stable, for machines. */
  code:
    | 'database_unavailable'
    | 'too_many_connections'
    | 'disk_full'
    | 'out_of_memory'
    | 'too_many_open_files'
    | 'engine_unavailable';
  /** For people: what is missing, without what any statement held. */
  sentence: string;
}

const UNREACHABLE: Outage = { code: 'database_unavailable', sentence: 'The database is unreachable' };
/** It may be overloaded, or this process was. */
const SLOW: Outage = { code: 'database_unavailable', sentence: 'The database did not answer in time' };
const BUSY: Outage = { code: 'database_unavailable', sentence: 'The database had to break off competing statements' };
const READ_ONLY: Outage = { code: 'database_unavailable', sentence: 'The database accepts no writes now' };
const BROKEN: Outage = { code: 'database_unavailable', sentence: 'The database cannot read or write its files' };
const CONNECTIONS: Outage = { code: 'too_many_connections', sentence: 'The database has too many connections' };
const POOL: Outage = { code: 'too_many_connections', sentence: 'All database connections of this process are in use' };
const DATABASE_DISK: Outage = { code: 'disk_full', sentence: 'The disk is full: the database has no room left to write' };
const DISK: Outage = { code: 'disk_full', sentence: 'The disk is full: this process has no room left to write' };
const DATABASE_MEMORY: Outage = { code: 'out_of_memory', sentence: 'The database is out of memory' };
const MEMORY: Outage = { code: 'out_of_memory', sentence: 'This machine is out of memory' };
const FILES: Outage = { code: 'too_many_open_files', sentence: 'Too many files and connections are open on this machine' };
const ENGINE: Outage = { code: 'engine_unavailable', sentence: 'The workflow engine is unreachable' };
/** It may be overloaded, or this process was. */
const ENGINE_SLOW: Outage = { code: 'engine_unavailable', sentence: 'The workflow engine did not answer in time' };
const ENGINE_BUSY: Outage = { code: 'engine_unavailable', sentence: 'The workflow engine has more requests than it can serve' };

/** SQLSTATEs, or the class that they begin with; the longest that fits holds. */
const SQLSTATE: Record<string, Outage> = {
  '08': UNREACHABLE,
  '53': UNREACHABLE,
  '53100': DATABASE_DISK,
  '53200': DATABASE_MEMORY,
  '53300': CONNECTIONS,
  '57P': UNREACHABLE,
  '58': BROKEN,
  '25006': READ_ONLY,
  '25P03': UNREACHABLE,
  '40001': BUSY,
  '40P01': BUSY,
};

/** Codes of Node, Prisma and its driver adapter. */
const CODES: Record<string, Outage> = {
  ECONNREFUSED: UNREACHABLE,
  ECONNRESET: UNREACHABLE,
  EPIPE: UNREACHABLE,
  ENOTFOUND: UNREACHABLE,
  ENOSPC: DISK,
  EDQUOT: DISK,
  ENOMEM: MEMORY,
  EMFILE: FILES,
  ENFILE: FILES,
  P1001: UNREACHABLE,
  P1002: SLOW,
  P1008: SLOW,
  P1017: UNREACHABLE,
  P2024: POOL,
  P2028: POOL,
  P2034: BUSY,
  P2037: CONNECTIONS,
  DatabaseNotReachable: UNREACHABLE,
  ConnectionClosed: UNREACHABLE,
  SocketTimeout: SLOW,
  TooManyConnections: CONNECTIONS,
  TransactionWriteConflict: BUSY,
  engine_unavailable: ENGINE,
};

/** What node-postgres throws without a code, to the letter. */
const UNCODED: Record<string, Outage> = {
  'Connection terminated': UNREACHABLE,
  'Connection terminated unexpectedly': UNREACHABLE,
  'Connection terminated due to connection timeout': SLOW,
  'Client has encountered a connection error and is not queryable': UNREACHABLE,
  'Client was closed and is not queryable': UNREACHABLE,
  'Query read timeout': SLOW,
  'timeout expired': SLOW,
  'timeout exceeded when trying to connect': POOL,
};

/** By gRPC status: cancelled, deadline exceeded, resource exhausted, unavailable. */
const ENGINE_OUT_OF_REACH: Record<number, Outage> = { 1: ENGINE, 4: ENGINE_SLOW, 8: ENGINE_BUSY, 14: ENGINE };

/** What a gRPC status of the engine says about the installation. Undefined: the engine served, and refused. */
export const engineOutageOf = (grpc_code: number): Outage | undefined => ENGINE_OUT_OF_REACH[grpc_code];

interface Coded {
  code?: unknown;
  kind?: unknown;
  originalCode?: unknown;
  message?: unknown;
  cause?: unknown;
  /** Prisma keeps there what its driver adapter threw. */
  meta?: { driverAdapterError?: unknown };
}

/** What an error says about the installation by its code, or by that of one of its causes. Null: it is about something else. */
export function outageOf(error: unknown): Outage | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, originalCode, kind, message, cause, meta } = error as Coded;
  const own = [code, originalCode, kind].map(byCode).find((outage) => outage !== undefined);
  return own ?? known(UNCODED, String(message)) ?? outageOf(cause) ?? outageOf(meta?.driverAdapterError);
}

function byCode(code: unknown): Outage | undefined {
  if (typeof code !== 'string') return undefined;
  const named = known(CODES, code);
  if (named || !/^[0-9A-Z]{5}$/.test(code)) return named;
  return SQLSTATE[code] ?? SQLSTATE[code.slice(0, 3)] ?? SQLSTATE[code.slice(0, 2)];
}

/** Errors come from anywhere: one may be called `constructor`. */
const known = (table: Record<string, Outage>, name: string): Outage | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
