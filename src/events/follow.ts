import { setTimeout as wait } from 'node:timers/promises';
import { mailbox } from '../domain/mailbox.ts';
import { findOutage } from '../domain/outages.ts';
import { isTerminal } from '../domain/statuses.ts';
import { type EventBus, MISSED, type Notice } from './bus.ts';
import type { StoredEvent } from './task-events.ts';
import type { StreamAccount, StreamBudget } from './waiting.ts';

/** A large event, whose data are not loaded yet. */
type EventWithoutData = Omit<StoredEvent, 'data'> & { data: null };

/** An event of the record. A large event comes without its data. */
type RecordedEvent = StoredEvent | EventWithoutData;

export interface RecordPage {
  events: RecordedEvent[];
  /** The size of the events' data, in bytes. */
  bytes: number;
  /** True if there may be further events. */
  more: boolean;
}

/** The position of a stream's reader. */
export interface ReaderPlace {
  task_id: string | null;
  after: number;
  epoch: number;
}

export interface EventExtent {
  /** The last assigned number. */
  last: number;
  /** True if the task, when one is named, has ended or was deleted. */
  over: boolean;
  /** The last restore that made numbers of this workflow void. */
  epoch: number;
  /** Set if the reader's number is not from this record: the reader has to begin again after this number. */
  begin_again_after: number | null;
}

/** The part of the event record that following needs. */
export interface EventLog {
  /** Returns at most `limit` events, as many as `bytes` allow, and at least one if there is one. */
  read(
    workflow_id: string,
    from: { after: number; task_id?: string | undefined; limit: number; bytes: number },
  ): Promise<RecordPage>;
  /** Returns one event with its data; null if it was deleted. */
  one(workflow_id: string, seq: number): Promise<StoredEvent | null>;
  /** Returns the end of the record, and the place where a reader whose number is not from this record must start again. */
  extent(workflow_id: string, place: ReaderPlace): Promise<EventExtent>;
}

export interface Following {
  workflow_id: string;
  after: number;
  /** True if the number comes from a reader, who may have it from before a restore. */
  resumed?: boolean;
  /** Only events of this task; the stream ends after its terminal status, or if the task has already ended. */
  task_id?: string | undefined;
}

export interface FollowSource {
  bus: EventBus;
  log: EventLog;
  waiting: StreamBudget;
}

/** A large event, which its reader loads just before sending it; null if it was deleted. */
type LargeEvent = EventWithoutData & { load(): Promise<StoredEvent | null> };
export type FollowedEvent = StoredEvent | LargeEvent;

/** The limits of one read from the record: events here, bytes below. */
const ROWS = { first: 16, most: 500 };
const PAGE_BYTES = 32 * 1024;
/** The most bytes kept for a busy reader; beyond that it reads from the record. */
const INBOX_BYTES = 32 * 1024;
const NOTICE_OVERHEAD = 100;
/** The time between reads of the record while the bus is silent. */
const LOOK_MS = 3_000;
/** The time between attempts to read the record while the database is unavailable. */
const PAUSE_MS = 500;

/** The epoch of a reader that has no number from an earlier request. */
const NO_EPOCH_BEFORE = 2 ** 31 - 1;

/** Follows events like `followInParts`, with large events loaded. */
export async function* follow(from: FollowSource, place: Following, signal: AbortSignal): AsyncGenerator<StoredEvent> {
  for await (const event of followInParts(from, place, signal)) {
    const whole = 'load' in event ? await from.waiting.withLarge(event.load, signal).catch(unlessAborted(signal)) : event;
    if (whole) yield whole;
  }
}

const unlessAborted = (signal: AbortSignal) => (error: unknown) => {
  if (signal.aborted) return null;
  throw error;
};

/**
 * Yields the events after a number: the past from the record, then live, without a gap or a repetition. The bus only makes
 * delivery faster: if it loses a notice, the record is read every few seconds anyway. Little is kept in memory for a slow reader;
 * it continues from the record. Waits while the database is unavailable. Ends when the signal is aborted. If the number is not
 * from this record, which then was restored, the reader gets `stream_reset` and everything from the run's start.
 */
export const followInParts = (from: FollowSource, place: Following, signal: AbortSignal): AsyncGenerator<FollowedEvent> =>
  parts(from, { ...place, extent: null, subscription: subscribe(from, place.workflow_id, signal) }, signal);

/** Reads the record for the first time. It may refuse the reader by throwing; null: it does not report where the record ends. */
export type Look = (place: ReaderPlace) => Promise<EventExtent | null>;

/**
 * Follows events like `followInParts`, with a first look at the record. No event published after the look is missed. Null if the
 * reader has every event of a run that has ended.
 */
export async function followAfterLook(
  from: FollowSource,
  { look, ...place }: Following & { look: Look },
  signal: AbortSignal,
): Promise<AsyncGenerator<FollowedEvent> | null> {
  const subscription = subscribe(from, place.workflow_id, signal);
  try {
    const extent = await look(toReaderPlace(place));
    if (extent && (await hasAll(from, place, extent))) {
      subscription.leave();
      return null;
    }
    return parts(from, { ...place, extent, subscription }, signal);
  } catch (error) {
    subscription.leave();
    throw error;
  }
}

async function hasAll(
  { log }: FollowSource,
  { workflow_id, task_id, after, resumed }: Following,
  { over, begin_again_after }: EventExtent,
): Promise<boolean> {
  if (!task_id || !resumed || !over || begin_again_after !== null) return false;
  return (await log.read(workflow_id, { after, task_id, limit: 1, bytes: 1 })).events.length === 0;
}

const toReaderPlace = ({ task_id, after, resumed = false }: Following): ReaderPlace => ({
  task_id: task_id ?? null,
  after,
  epoch: resumed ? 0 : NO_EPOCH_BEFORE,
});

function subscribe({ bus, waiting }: FollowSource, workflow_id: string, signal: AbortSignal) {
  const account = waiting.account();
  const inbox = mailbox<Notice>({
    most: INBOX_BYTES,
    getSize: getNoticeSize,
    instead: MISSED,
    idle_ms: LOOK_MS,
    onSizeChange: account.add,
  });
  const unsubscribe = bus.subscribe(workflow_id, inbox.put);
  const leave = () => {
    unsubscribe();
    inbox.end();
    account.close();
  };
  signal.addEventListener('abort', leave, { once: true });
  return { account, inbox, leave };
}

interface ActiveFollowing extends Following {
  subscription: ReturnType<typeof subscribe>;
  /** The end of the record, read after the subscription; null: not read yet. */
  extent: EventExtent | null;
}

/** Yields one notice for the present record, then every published notice. */
async function* readNotices({ inbox }: ActiveFollowing['subscription']): AsyncGenerator<Notice> {
  yield MISSED;
  yield* inbox.read();
}

async function* parts(from: FollowSource, following: ActiveFollowing, signal: AbortSignal): AsyncGenerator<FollowedEvent> {
  const { workflow_id, task_id, subscription } = following;
  const source = { log: patient(from, signal), workflow_id, task_id, account: subscription.account };
  try {
    let { after: last_seq, epoch } = toReaderPlace(following);
    let next_extent = following.extent;
    for await (const notice of readNotices(subscription)) {
      if (signal.aborted) return;
      if (notice.last <= last_seq) continue;
      const carried_events = findCarriedEvents(notice, last_seq);
      const read = () => source.log.extent(workflow_id, { task_id: task_id ?? null, after: last_seq, epoch });
      const extent = carried_events ? null : (next_extent ?? (await read()));
      next_extent = null;
      epoch = extent?.epoch ?? epoch;
      const begin = extent?.begin_again_after ?? null;
      if (begin !== null) yield toResetEvent(begin, task_id);
      last_seq = begin ?? last_seq;
      // Most looks at an idle stream find nothing new, and cost one read.
      const news = extent && extent.last !== last_seq ? readRecorded(source, { after: last_seq, until: extent.last }) : [];
      for await (const event of carried_events ?? news) {
        last_seq = event.seq;
        if (task_id && event.task_id !== task_id) continue;
        yield event;
        if (ends(event, task_id)) return;
      }
      if (task_id && extent?.over) return;
      // Numbers become visible in order: once the last event of a notice is read, all earlier ones are.
      last_seq = Math.max(last_seq, extent?.last ?? notice.last);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    subscription.leave();
  }
}

/** Creates the reset event. Its number precedes the first event that follows, so an interrupted reader resumes there. */
const toResetEvent = (seq: number, task_id = ''): StoredEvent => ({
  seq,
  task_id,
  type: 'log',
  data: { event: 'stream_reset', detail: RESET },
  timestamp: new Date().toISOString(),
});

const RESET =
  'The installation was restored. Drop every event with a higher number than this one; the events that are on record follow';
const getNoticeSize = ({ bytes = 0 }: Notice) => bytes + NOTICE_OVERHEAD;

interface Source {
  log: EventLog;
  workflow_id: string;
  task_id: string | undefined;
  account: StreamAccount;
}

/** Yields the recorded events after one number, up to another. Pages are shared with other readers. */
async function* readRecorded(
  { log, workflow_id, task_id, account }: Source,
  { after, until }: { after: number; until: number },
): AsyncGenerator<FollowedEvent> {
  let limit = ROWS.first;
  for (let last_seq = after, more = true; more && last_seq < until; ) {
    const page = await log.read(workflow_id, { after: last_seq, task_id, limit, bytes: PAGE_BYTES });
    more = page.more;
    limit = estimatePageLimit(page);
    account.add(page.bytes);
    for (const event of page.events) {
      last_seq = event.seq;
      yield event.data === null ? { ...event, load: () => log.one(workflow_id, event.seq) } : event;
    }
    account.add(-page.bytes);
  }
}

/** Estimates how many events of this size fill a page. The database measures as many events as the limit requests. */
const estimatePageLimit = ({ events, bytes }: RecordPage): number =>
  Math.min(ROWS.most, Math.ceil((PAGE_BYTES * Math.max(1, events.length)) / Math.max(1, bytes)));

/** Returns the new events that a notice carries; null if it carries none, or if earlier ones were missed. */
function findCarriedEvents({ last, task_id, events }: Notice, last_seq: number): StoredEvent[] | null {
  if (!events?.length || !task_id || last - events.length > last_seq) return null;
  const numbered = events.map((event, index) => ({ ...event, task_id, seq: last - events.length + 1 + index }));
  return numbered.filter(({ seq }) => seq > last_seq);
}

const ends = ({ type, data }: FollowedEvent, task_id: string | undefined) =>
  task_id !== undefined && type === 'status' && data !== null && isTerminal(data.status) && data.task_id === task_id;

/** Retries reads while the database is unavailable, so that a stream survives an outage. */
function patient({ log, waiting }: Omit<FollowSource, 'bus'>, signal: AbortSignal): EventLog {
  const retryWhileDown = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await waiting.read(ask, signal);
      } catch (error) {
        if (!findOutage(error)) throw error;
        await wait(PAUSE_MS, undefined, { signal });
      }
    }
  };
  return {
    read: (...place) => retryWhileDown(() => log.read(...place)),
    one: (...place) => retryWhileDown(() => log.one(...place)),
    extent: (...place) => retryWhileDown(() => log.extent(...place)),
  };
}
