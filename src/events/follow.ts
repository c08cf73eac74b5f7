import type { StoredEvent } from '../domain/events.ts';
import { mailbox } from '../domain/mailbox.ts';
import { isTerminal } from '../domain/statuses.ts';
import { type EventBus, MISSED, type Notice } from './bus.ts';

/** The record of events, as far as following needs it. */
interface EventLog {
  read(workflow_id: string, from: { after: number; task_id?: string | undefined; limit?: number }): Promise<StoredEvent[]>;
}

export interface Following {
  workflow_id: string;
  after: number;
  /** Only events of this task; the stream ends after its terminal status. */
  task_id?: string | undefined;
}

const PAGE = 500;
/** Notices kept for a slow reader; beyond that it reads from the record. */
const BACKLOG = 1_000;

/**
 * Events after a number: the past from the record, then live, without a gap or a repetition. Subscribes before it reads,
 * so nothing falls between. Ends when the signal is aborted.
 */
export async function* follow(
  { bus, log }: { bus: EventBus; log: EventLog },
  { workflow_id, after, task_id }: Following,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  const inbox = mailbox<Notice>({ most: BACKLOG, instead: MISSED });
  inbox.put(MISSED);
  const unsubscribe = await bus.subscribe(workflow_id, inbox.put);
  const leave = () => {
    unsubscribe();
    inbox.end();
  };
  signal.addEventListener('abort', leave, { once: true });
  try {
    let seen = after;
    for await (const notice of inbox.read()) {
      if (signal.aborted) return;
      if (notice.last <= seen) continue;
      for await (const event of continuing({ log, workflow_id, task_id, seen, notice })) {
        seen = event.seq;
        if (task_id && event.task_id !== task_id) continue;
        yield event;
        if (ends(event, task_id)) return;
      }
      // Numbers become visible in order: with the last of a notice, all before it have been read.
      if (Number.isFinite(notice.last)) seen = Math.max(seen, notice.last);
    }
  } finally {
    leave();
  }
}

interface Continuing {
  log: EventLog;
  workflow_id: string;
  task_id: string | undefined;
  seen: number;
  notice: Notice;
}

/** What follows the number last seen: the notice's own events where they join on, else what the record holds. */
async function* continuing({ log, workflow_id, task_id, seen, notice }: Continuing): AsyncGenerator<StoredEvent> {
  const told = eventsOf(notice);
  if (told?.[0] && told[0].seq <= seen + 1) {
    yield* told.filter(({ seq }) => seq > seen);
    return;
  }
  for (let after = seen, page = PAGE; page === PAGE; ) {
    const past = await log.read(workflow_id, { after, task_id, limit: PAGE });
    yield* past;
    page = past.length;
    after = past.at(-1)?.seq ?? after;
  }
}

const ends = ({ type, data }: StoredEvent, task_id: string | undefined) =>
  task_id !== undefined && type === 'status' && isTerminal(data.status) && data.task_id === task_id;

/** The events a notice carries, numbered; null when it carries none. */
function eventsOf({ last, task_id, events }: Notice): StoredEvent[] | null {
  if (!events || !task_id) return null;
  return events.map((event, index) => ({ ...event, task_id, seq: last - events.length + 1 + index }));
}
