import { ALL_KINDS, changes, type RecordChange } from '../../contracts/changes.ts';
import { ApiProblem, type Client, requestUrl } from './call.ts';
import { pause, readFrames } from './stream.ts';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A connection that lasted this long was a good one: the next is opened soon. */
const GOOD_MS = 10_000;
/** The service sends a comment every 15 seconds. A connection without one is broken, even if nobody has closed it. */
const SILENT_MS = 45_000;
/** How often everything is read again while there is no connection. */
const READ_AGAIN_MS = 60_000;

const ALL: RecordChange = { kind: ALL_KINDS, id: null };

interface Following {
  signal: AbortSignal;
  onChange(change: RecordChange): void;
  /** Called when a connection is open. Nothing is replayed: what was read before may have changed since. */
  onOpen(): void;
  /** Called when a connection has ended or was refused. */
  onLost(): void;
  silent_ms?: number;
}

/**
 * Follows what changes until the signal is aborted or the sign-in ends. While there is no connection, everything counts as changed
 * once a minute.
 */
export async function followChanges(client: Client, following: Following): Promise<void> {
  const { signal, onChange, onLost } = following;
  let wait = FIRST_WAIT_MS;
  let read_at = performance.now();
  while (!signal.aborted) {
    let opened_at = Number.POSITIVE_INFINITY;
    const onOpen = () => {
      opened_at = performance.now();
      following.onOpen();
    };
    const refused = await attempt(client, { ...following, onOpen });
    if (signal.aborted || refused) return;
    onLost();
    if (performance.now() - opened_at > GOOD_MS) {
      wait = FIRST_WAIT_MS;
      read_at = performance.now();
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    if (signal.aborted || performance.now() - read_at < READ_AGAIN_MS) continue;
    read_at = performance.now();
    onChange(ALL);
  }
}

/** Reads one connection to its end. True if the service no longer accepts the sign-in. */
async function attempt(client: Client, { signal, onChange, onOpen, silent_ms = SILENT_MS }: Following): Promise<boolean> {
  const silence = watchSilence(silent_ms);
  try {
    const response = await client.send(requestUrl(changes.stream, {}), { signal: AbortSignal.any([signal, silence.signal]) });
    onOpen();
    for await (const { data } of readFrames(response.body!.pipeThrough(silence.watch()))) onChange(data as RecordChange);
    return false;
  } catch (error) {
    return error instanceof ApiProblem && error.status === 401;
  } finally {
    silence.end();
  }
}

/**
 * Aborts its signal if no byte passes for a while, also before the first: some proxies keep a whole response to themselves. A page that
 * sleeps does not count as silence.
 */
function watchSilence(silent_ms: number) {
  const silent = new AbortController();
  let timer: AbortSignal | undefined;
  const heard = () => {
    // Unlike a timer of the page, this one is not slowed down in the background.
    const own = AbortSignal.timeout(silent_ms);
    own.addEventListener('abort', () => own === timer && silent.abort());
    timer = own;
  };
  heard();
  return {
    signal: silent.signal,
    watch: () =>
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          heard();
          controller.enqueue(chunk);
        },
      }),
    end() {
      timer = undefined;
    },
  };
}

const FIRST_GAP_MS = 1_000;
const LONGEST_GAP_MS = 5_000;
/** What ends a burst. The service repeats a change after a second, so a pause of that length does not. */
const QUIET_MS = 10_000;

/** Passes changes on in batches: the first at once, and those of a burst together, every five seconds while it lasts. */
export function inBatches(pass: (batch: RecordChange[]) => void) {
  let waiting: RecordChange[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let gap = FIRST_GAP_MS;
  let passed_at = Number.NEGATIVE_INFINITY;
  const next = () => {
    const batch = waiting;
    waiting = [];
    timer = undefined;
    if (batch.length === 0) return;
    if (performance.now() - passed_at >= QUIET_MS) gap = FIRST_GAP_MS;
    passed_at = performance.now();
    timer = setTimeout(next, gap);
    gap = Math.min(gap * 2, LONGEST_GAP_MS);
    pass(batch);
  };
  return {
    add(change: RecordChange) {
      waiting.push(change);
      if (timer === undefined) next();
    },
    end() {
      clearTimeout(timer);
      waiting = [];
    },
  };
}

/** What a run changes, besides its own record: lists that show its status, and figures that count it. */
const OF_RUNS = new Set(['tasks', 'threads', 'inbox', 'workflows', 'scheduled-agents', 'datasets', 'usage', 'budgets']);

/** The steps of a run, which the page of the run reads as its own stream reports them. */
const FOLLOWED = /^\/api\/tasks\/\{id\}\/(?:steps|timeline)/;

const collectionOf = (path: string) => path.split('/')[2] ?? '';

/** True if a change may have changed what was read from a path, with these ids in it. */
export function isAffected(
  { kind, id, workflow_id }: RecordChange,
  { path, ids }: { path: string; ids: readonly string[] },
): boolean {
  if (kind === ALL_KINDS || kind === 'import') return true;
  const collection = collectionOf(path);
  const is_run = kind === 'tasks' && workflow_id !== undefined;
  if (is_run && FOLLOWED.test(path)) return false;
  if (is_run ? !OF_RUNS.has(collection) : collection !== kind) return false;
  const changed_id = collection === kind ? id : collection === 'workflows' ? workflow_id : undefined;
  return ids.length === 0 || !changed_id || ids.includes(changed_id);
}
