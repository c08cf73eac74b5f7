/** A state of the installation, not a fault of a run or request: anything that it stopped is tried again. */
export interface Outage {
  /** The stable code for machines. */
  code:
    | 'database_unavailable'
    | 'too_many_connections'
    | 'disk_full'
    | 'out_of_memory'
    | 'too_many_open_files'
    | 'too_many_processes'
    | 'engine_unavailable'
    | 'object_store_unavailable'
    | 'parsers_unavailable';
  /** A sentence for people: what is missing and which setting is concerned, without the content of any statement. */
  sentence: string;
}

const MARK = Symbol('outage');

/**
 * A peer of the installation could not serve. Only the one place through which a peer is reached throws it, so that no code after
 * it has to recognise a failure by its code.
 */
export class OutageError extends Error {
  override readonly name: string = 'OutageError';
  readonly code: Outage['code'];
  readonly [MARK]: Outage;

  constructor(outage: Outage, cause?: unknown) {
    super(`${outage.sentence}${formatReason(cause, outage.sentence)}`, cause === undefined ? undefined : { cause });
    this.code = outage.code;
    this[MARK] = outage;
  }

  /** Prisma throws its own error instead, and copies `code` and `meta`. */
  get meta(): { outage: OutageError } {
    return { outage: this };
  }
}

/** Marks an error as caused by a peer that cannot serve. */
export const asOutage = <E extends Error>(error: E, outage: Outage): E =>
  Object.defineProperty(error, MARK, { value: outage, enumerable: false });

/** Formats the cause. An error about several attempted addresses has no message, so theirs are joined. */
function formatReason(cause: unknown, sentence: string): string {
  const text = cause instanceof AggregateError ? cause.errors.map(getMessage).join('; ') : getMessage(cause);
  return text && !sentence.includes(text) ? `: ${text}` : '';
}

const getMessage = (error: unknown): string => (error instanceof Error ? error.message : '');

const DISK: Outage = {
  code: 'disk_full',
  sentence: 'The disk is full: this process has no room left to write; make room on the disks of PERDURA_HOME and TMPDIR',
};
const MEMORY: Outage = { code: 'out_of_memory', sentence: 'This machine is out of memory' };
const FILES: Outage = {
  code: 'too_many_open_files',
  sentence: 'Too many files and connections are open on this machine; raise the limit of open files (`ulimit -n`, LimitNOFILE)',
};
const PROCESSES: Outage = {
  code: 'too_many_processes',
  sentence: 'This machine starts no more processes; raise their limit (`ulimit -u`, TasksMax, or the `pids` of the container)',
};
const TRANSACTION: Outage = {
  code: 'database_unavailable',
  sentence: 'The database did not begin or end a transaction in time',
};

/** The outages of this machine by error code. No single place reports them: every system call may. */
const MACHINE: Record<string, Outage> = { ENOSPC: DISK, EDQUOT: DISK, ENOMEM: MEMORY, EMFILE: FILES, ENFILE: FILES };
const LACKS = new Set<Outage | null>([...Object.values(MACHINE), PROCESSES]);

/**
 * Matches the errors that Prisma itself throws: about its connection, and about transactions that did not begin or end. The rest
 * is thrown by the pool.
 */
const OF_PRISMA = /^P1\d{3}$|^P20(?:24|28|34|37)$/;

interface Facts {
  [MARK]?: Outage;
  code?: unknown;
  syscall?: unknown;
  cause?: unknown;
  meta?: { outage?: unknown };
}

/** The search depth: the causes of an error may be circular. */
const DEEPEST = 20;

/** Returns the outage that an error, or one of its causes, reports; null if it is about something else. */
export function findOutage(error: unknown, depth = 0): Outage | null {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return null;
  const { [MARK]: outage, code, syscall, cause, meta } = error as Facts;
  if (outage) return outage;
  if (meta?.outage instanceof OutageError) return meta.outage[MARK];
  return findOutageByCode(code, syscall) ?? findOutage(cause, depth + 1);
}

/**
 * Returns the same error, unless this machine lacks something: then one that names what is missing, and which place has no room,
 * without the path that a single call has used.
 */
export function asLack(error: unknown, place?: string): unknown {
  const lack = findOutage(error);
  if (!LACKS.has(lack)) return error;
  const names_place = place && lack === DISK;
  return new OutageError(
    names_place ? { ...DISK, sentence: `The disk is full: there is no room for ${place}; make room there` } : lack!,
  );
}

function findOutageByCode(code: unknown, syscall: unknown): Outage | null {
  if (typeof code !== 'string') return null;
  // From any other call, EAGAIN only means that there is nothing to read yet.
  if (code === 'EAGAIN' && typeof syscall === 'string' && syscall.startsWith('spawn')) return PROCESSES;
  // An error may come from anywhere, so its code may be `constructor`.
  if (Object.hasOwn(MACHINE, code)) return MACHINE[code] as Outage;
  return OF_PRISMA.test(code) ? TRANSACTION : null;
}
