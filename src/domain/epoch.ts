/**
 * The progress of an installation. The record, the engine and the home each keep the last mark that they were given; the record
 * advances first. So one that is behind the record missed a moment, and a record that is behind any of them was restored.
 */
export interface Mark {
  installation: string;
  /** A number that increases by one after each restore. */
  epoch: number;
  /** A counter that advances while the installation runs. */
  beat: number;
  /** The place of the database when the mark was written; absent: unknown. */
  log?: LogPlace;
}

/** The server that a database is on. A copy of a server is the same cluster; each one that is promoted begins a timeline. */
export interface ServerPlace {
  cluster: string;
  timeline: number;
}

/** The position up to which a server has flushed its log to disk. It never decreases, unless the server is set back. */
export interface LogPlace extends ServerPlace {
  written: number;
}

export const isBehind = (record: Mark, other: Mark): boolean =>
  record.installation === other.installation &&
  (record.epoch < other.epoch || (record.epoch === other.epoch && record.beat < other.beat));

const isSameServer = (one: ServerPlace, other: ServerPlace): boolean =>
  one.cluster === other.cluster && one.timeline === other.timeline;

/** True if the log of the record's server has gone back since the mark was written, and no epoch has begun since. */
export const isShorter = (record: Mark, other: Mark): boolean =>
  other.installation === record.installation &&
  record.epoch === other.epoch &&
  record.log !== undefined &&
  other.log !== undefined &&
  isSameServer(record.log, other.log) &&
  record.log.written < other.log.written;

/** True if the record was last on another server, and no epoch has begun on this one. */
export const isMoved = ({ server, log }: { server?: ServerPlace; log?: ServerPlace }): boolean =>
  server !== undefined && log !== undefined && !isSameServer(server, log);

export const formatMark = ({ installation, epoch, beat, log }: Mark): string =>
  JSON.stringify({ installation, epoch, beat, log });

/** Parses a mark; null for any other text. */
export function parseMark(text: string | undefined): Mark | null {
  try {
    const { installation, epoch, beat, log } = JSON.parse(text ?? '') as Partial<Mark>;
    if (typeof installation !== 'string' || !Number.isInteger(epoch) || !Number.isInteger(beat)) return null;
    return { installation, epoch: epoch as number, beat: beat as number, ...(isLogPlace(log) ? { log } : {}) };
  } catch {
    return null;
  }
}

const isLogPlace = (log: Partial<LogPlace> | undefined): log is LogPlace =>
  typeof log?.cluster === 'string' && Number.isInteger(log.timeline) && Number.isFinite(log.written);
