import type { EventLog, RecordPage } from './follow.ts';
import type { StoredEvent } from './task-events.ts';

interface KeptPage {
  stream: string;
  /** The page has the events after this number, up to its last one. */
  after: number;
  /** A page with events. */
  page: RecordPage;
  until: number;
}

/** The most large events that are kept for readers who send them at about the same time. */
const LARGE_KEPT = 4;
const MOST_KEPT = 32;
/** How long a page is kept: long enough for the readers of one run. Events do not change, but they can be deleted. */
const KEPT_MS = 5_000;

/**
 * Wraps a record so that its latest pages and large events are kept briefly. Readers of a run that fall behind are at about the
 * same place, so they share them: each is read and parsed once.
 */
export function withSharedPages(log: EventLog): EventLog {
  let pages: KeptPage[] = [];
  const reading = new Map<string, Promise<RecordPage>>();
  const large = new Map<string, Promise<StoredEvent | null>>();

  function find(stream: string, after: number): RecordPage | null {
    const now = performance.now();
    pages = pages.filter(({ until }) => until > now);
    const shared_page = pages.find((one) => one.stream === stream && one.after <= after && one.page.events.at(-1)!.seq > after);
    return shared_page ? skipSeen(shared_page.page, after) : null;
  }

  function load(name: string, work: () => Promise<StoredEvent | null>): Promise<StoredEvent | null> {
    const event = work();
    const forget = () => large.get(name) === event && large.delete(name);
    large.set(name, event);
    event.catch(forget);
    setTimeout(forget, KEPT_MS).unref();
    for (const oldest of [...large.keys()].slice(0, -LARGE_KEPT)) large.delete(oldest);
    return event;
  }

  return {
    one(workflow_id, seq) {
      const name = `${workflow_id} ${seq}`;
      return large.get(name) ?? load(name, () => log.one(workflow_id, seq));
    },
    async read(workflow_id, place) {
      const { after, task_id = '' } = place;
      const stream = `${workflow_id} ${task_id}`;
      const shared_page = find(stream, after);
      if (shared_page) return shared_page;
      const name = `${stream} ${after}`;
      const pending_read = reading.get(name);
      // The page may have been read before the newest events were written.
      if (pending_read) return { ...(await pending_read), more: true };
      const own = log.read(workflow_id, place).finally(() => reading.delete(name));
      reading.set(name, own);
      const page = await own;
      if (page.events.length > 0)
        pages = [...pages, { stream, after, page, until: performance.now() + KEPT_MS }].slice(-MOST_KEPT);
      return page;
    },
    async extent(workflow_id, place) {
      const extent = await log.extent(workflow_id, place);
      // The record was restored, so earlier reads may not be part of it.
      if (extent.begin_again_after !== null) {
        pages = pages.filter(({ stream }) => !stream.startsWith(workflow_id));
        for (const name of large.keys()) if (name.startsWith(workflow_id)) large.delete(name);
      }
      return extent;
    },
  };
}

/** Returns the rest of a page after a number. Newer events may have been written since the page was read. */
function skipSeen({ events, bytes }: RecordPage, after: number): RecordPage {
  const rest = events.filter(({ seq }) => seq > after);
  return { events: rest, bytes: Math.ceil((bytes * rest.length) / events.length), more: true };
}
