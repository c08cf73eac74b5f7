import { ALL_KINDS, type RecordChange } from '../contracts/changes.ts';
import type { LogName } from '../contracts/log-events.ts';
import { mailbox } from '../domain/mailbox.ts';
import type { EventBus, PlacedChange } from './bus.ts';
import type { NewEvent } from './task-events.ts';

/** The shortest time between two reports of one record. */
const GAP_MS = 1_000;
/** The most changes that wait for a slow reader; beyond that it gets `all`. */
const MOST_WAITING = 500;
/** How often a bus that is down makes readers read everything again. */
const DOWN_MS = 10_000;
/** The most workflows whose owners are remembered. */
const MOST_OWNERS = 20_000;

const ALL: RecordChange = { kind: ALL_KINDS, id: null };

/** The log events that change what a run waits for. */
const PAUSES: ReadonlySet<string> = new Set<LogName>([
  'approval_requested',
  'approval_decided',
  'reconciliation_requested',
  'reconciliation_decided',
  'client_call_requested',
  'client_call_answered',
  'question_asked',
  'question_answered',
  'record_behind',
  'continuity_decided',
  'budget_exhausted',
  'unpriced_model',
]);

/** Returns the kinds that events of a run change. Text and tool calls change neither a list nor a figure. */
function listChangedKinds(events: readonly NewEvent[]): ('tasks' | 'inbox')[] {
  const changes_task = events.some(({ type }) => type === 'status' || type === 'usage');
  const changes_inbox = events.some(({ type, data }) => type === 'log' && PAUSES.has(data.event));
  return [...(changes_task ? (['tasks'] as const) : []), ...(changes_inbox ? (['inbox'] as const) : [])];
}

export type PublishChange = (change: PlacedChange) => void;

/** Passes a change on at once, and the same change again at most once in `GAP_MS`. */
export function coalesceChanges(pass: PublishChange): PublishChange {
  /** The changes passed on lately, and whether they happened again since. */
  const repeated = new Map<string, boolean>();
  const send = (key: string, change: PlacedChange) => {
    repeated.set(key, false);
    const next = () => {
      const again = repeated.get(key);
      repeated.delete(key);
      if (again) send(key, change);
    };
    setTimeout(next, GAP_MS).unref();
    pass(change);
  };
  return (change) => {
    const key = JSON.stringify([change.kind, change.id, change.workflow_id, change.owner]);
    if (repeated.has(key)) repeated.set(key, true);
    else send(key, change);
  };
}

/** Creates what publishes the events of runs, with the changes that follow from them, and other changes. */
export function createPublishers({ announce, publishChange: pass }: Pick<EventBus, 'announce' | 'publishChange'>) {
  const publishChange = coalesceChanges(pass);
  return {
    publishChange,
    publish(workflow_id: string, task_id: string, batch: { events: NewEvent[]; last: number }) {
      announce(workflow_id, { task_id, ...batch });
      for (const kind of listChangedKinds(batch.events)) publishChange({ kind, id: task_id, workflow_id });
    },
  };
}

/** The person who follows changes. */
interface Viewer {
  key: string;
  is_admin: boolean;
}

/** The kinds whose records of other people administrators may list. */
const ADMINISTERED = new Set(['keys', 'tokens', 'budgets']);

const maySee = ({ key, is_admin }: Viewer, { owner, kind }: PlacedChange) =>
  owner === null || owner === key || (is_admin && ADMINISTERED.has(kind));

export type ChangeReaders = ReturnType<typeof createChangeReaders>;

interface Source {
  bus: Pick<EventBus, 'onChange' | 'ping'>;
  findOwner(workflow_id: string): Promise<string | undefined>;
}

/**
 * Gives each reader the changes that they may see. Runs are published without their owner. Only a process with readers looks the
 * owner up, once for each workflow.
 */
export function createChangeReaders({ bus, findOwner }: Source) {
  const readers = new Map<(change: RecordChange) => void, Viewer>();
  const owners = new Map<string, Promise<string | undefined>>();

  const deliver = coalesceChanges((change) => {
    const { kind, id, workflow_id } = change;
    const report = { kind, id, ...(workflow_id && { workflow_id }) };
    for (const [put, viewer] of readers) if (maySee(viewer, change)) put(report);
  });
  const deliverAll = () => deliver({ ...ALL, owner: null });

  async function ownerOf(workflow_id: string): Promise<string | undefined> {
    if (owners.size >= MOST_OWNERS) owners.clear();
    const owner = owners.get(workflow_id) ?? findOwner(workflow_id);
    owners.set(workflow_id, owner);
    return owner;
  }
  async function deliverOfRun(change: PlacedChange, workflow_id: string): Promise<void> {
    try {
      const owner = await ownerOf(workflow_id);
      if (owner !== undefined) deliver({ ...change, owner });
    } catch {
      owners.delete(workflow_id);
      deliverAll();
    }
  }

  const unsubscribe = bus.onChange((change) => {
    if (readers.size === 0) return;
    if (change === null) deliverAll();
    else if (change.owner !== undefined) deliver(change);
    else if (change.workflow_id !== undefined) void deliverOfRun(change, change.workflow_id);
  });
  const watch = setInterval(() => {
    if (readers.size > 0) bus.ping().catch(deliverAll);
  }, DOWN_MS).unref();

  return {
    /** Yields the changes from now on that a viewer may see, until the signal is aborted. */
    follow(viewer: Viewer, signal: AbortSignal): AsyncGenerator<RecordChange> {
      const inbox = mailbox<RecordChange>({ most: MOST_WAITING, getSize: () => 1, instead: ALL });
      readers.set(inbox.put, viewer);
      const leave = () => {
        readers.delete(inbox.put);
        inbox.end();
      };
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
      return inbox.read();
    },
    close() {
      unsubscribe();
      clearInterval(watch);
    },
  };
}
