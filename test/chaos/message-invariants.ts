import type pg from 'pg';
import type { Verdict } from './invariants.ts';

/** A message from its sender's view. */
export interface SentMessage {
  number: number;
  /** Of its receipt. */
  id: string;
  thread_id: string;
  when_busy: string;
  /** The ids that repetitions with the same key were answered. */
  others: string[];
  /** The author withdrew it, and the answer confirmed that. */
  withdrawn: boolean;
}

/** The text by which a message is recognised in a transcript. */
export const markOf = (number: number) => `message-${number}-end`;

export interface Conversation {
  id: string;
  messages: number;
}

interface Evidence {
  database: pg.Client;
  sent: readonly SentMessage[];
}

type Row = Record<string, any>;
type Check = (evidence: Evidence) => Promise<Verdict>;

const verdict = (invariant: string): Verdict => ({ invariant, checked: 0, violations: [] });

function hold(to: Verdict, holds: boolean, otherwise: () => string): void {
  to.checked += 1;
  if (!holds) to.violations.push(otherwise());
}

/** The receipts as the API shows them, with the place at which each was accepted. */
const RECEIPTS = `SELECT m.id, m.thread_id, m.number, m.task_id, m.step, m.position, m.when_busy, m.reason, m.state AS stored, t.status, t.started_at,
    t.on_busy, t.lane_number, t.forked_from,
    CASE WHEN m.state <> 'started' THEN m.state WHEN t.started_at IS NOT NULL THEN 'started' WHEN t.status = 'pending' THEN 'pending' ELSE 'refused' END AS state
  FROM thread_messages m LEFT JOIN tasks t ON t.id = m.task_id`;

const receiptsAreFinal: Check = async ({ database, sent }) => {
  const found = verdict('every message has one receipt in one final state; a repeated key is the same message');
  const { rows } = await database.query<Row>(RECEIPTS);
  const by_id = new Map(rows.map((row) => [row.id, row]));
  const known = new Set(sent.map(({ id }) => id));
  const unknown = rows.filter(({ id }) => !known.has(id)).map(({ id, when_busy, state }) => `${id} (${when_busy}, ${state})`);
  hold(found, unknown.length === 0, () => `no sender knows the receipts of ${unknown.join(', ')}`);
  for (const { number, id, others, withdrawn } of sent) {
    const receipt = by_id.get(id);
    hold(
      found,
      ['started', 'steered', 'refused', 'withdrawn'].includes(receipt?.state),
      () => `${number} ${id} is ${receipt?.state}`,
    );
    hold(
      found,
      others.every((other) => other === id),
      () => `${number} ${id} was repeated as ${others}`,
    );
    hold(
      found,
      withdrawn === (receipt?.state === 'withdrawn'),
      () => `${number} ${id} is ${receipt?.state}; withdrawn: ${withdrawn}`,
    );
  }
  const { rows: held } = await database.query<Row>('SELECT id FROM threads WHERE active_task_id IS NOT NULL');
  hold(found, held.length === 0, () => `${held.length} conversations are held by nobody`);
  const { rows: open } = await database.query<Row>(`SELECT id, status FROM tasks WHERE completed_at IS NULL`);
  hold(found, open.length === 0, () => `${open.length} turns have not ended: ${JSON.stringify(open.slice(0, 3))}`);
  return found;
};

const messagesAreReadOnce: Check = async ({ database, sent }) => {
  const found = verdict('a message that started a turn or steered one stands once, where its receipt says; any other nowhere');
  const { rows: receipts } = await database.query<Row>(RECEIPTS);
  const by_id = new Map(receipts.map((row) => [row.id, row]));
  // A fork copies what its source has read: only what it adds is its own.
  const { rows } = await database.query<Row>(
    `SELECT m.task_id, m.step, m.position, m.kind, substring(m.content FROM 'message-[0-9]+-end') AS mark, t.forked_from IS NOT NULL AS is_fork
      FROM task_messages m JOIN tasks t ON t.id = m.task_id WHERE m.role = 'user' AND m.content LIKE '%message-%-end%' AND m.kind <> 'reminder'`,
  );
  const places = Map.groupBy(rows, ({ mark }) => mark as string);
  for (const { number, id, when_busy } of sent) {
    const receipt = by_id.get(id);
    const all = places.get(markOf(number)) ?? [];
    const own = all.filter(({ is_fork, task_id }) => !is_fork || task_id === receipt?.task_id);
    const is_read = ['started', 'steered'].includes(receipt?.state);
    hold(
      found,
      own.length === (is_read ? 1 : 0),
      () => `${number} ${id} (${when_busy}) is ${receipt?.state} and stands ${own.length} times: ${JSON.stringify(own)}`,
    );
    if (!is_read || own.length === 0) continue;
    const { task_id, step, position } = own[0]!;
    hold(found, task_id === receipt?.task_id, () => `${number} ${id} stands in ${task_id}, its receipt says ${receipt?.task_id}`);
    if (receipt?.state === 'steered')
      hold(
        found,
        position === receipt.position && step === receipt.step - 1,
        () => `${number} ${id} stands at ${step}/${position}, its receipt says ${receipt.step}/${receipt.position}`,
      );
  }
  return found;
};

const orderIsKept: Check = async ({ database }) => {
  const found = verdict(
    'the messages of a conversation are read in the order in which they were accepted, unless one interrupts or forks',
  );
  const { rows } = await database.query<Row>(RECEIPTS);
  for (const [thread_id, receipts] of Map.groupBy(rows, (row) => row.thread_id as string)) {
    const in_order = receipts.toSorted((a, b) => a.number - b.number);
    const steered = in_order.filter(({ state }) => state === 'steered');
    for (const [task_id, some] of Map.groupBy(steered, (row) => row.task_id as string)) {
      const places = some.map(({ step, position }) => step * 1e7 + position);
      const ascending = places.every((place, index) => index === 0 || place > places[index - 1]!);
      hold(
        found,
        ascending,
        () =>
          `${thread_id}: ${task_id} has read ${JSON.stringify(some.map(({ number, step, position }) => [number, step, position]))}`,
      );
    }
    for (const { id, number, lane_number, on_busy } of steered)
      hold(
        found,
        on_busy === 'interrupt' || lane_number < number,
        () => `${thread_id}: ${id}, accepted as ${number}, steers the turn ${lane_number}`,
      );
    const turns = in_order.filter(
      ({ state, on_busy, forked_from }) => state === 'started' && on_busy !== 'interrupt' && !forked_from,
    );
    const times = turns.map(({ started_at }) => (started_at as Date).getTime());
    hold(
      found,
      times.every((time, index) => index === 0 || time >= times[index - 1]!),
      () =>
        `${thread_id}: turns began in another order: ${JSON.stringify(turns.map(({ number, started_at }) => [number, started_at]))}`,
    );
  }
  return found;
};

const describe = ({
  id,
  status,
  on_busy,
  lane_number,
  previous_task_id,
  forked_from,
  beside_lane,
  started_at,
  completed_at,
}: Row) =>
  JSON.stringify({ id, status, on_busy, lane_number, previous_task_id, forked_from, beside_lane, started_at, completed_at });

const branchesAreReadWhole: Check = async ({ database }) => {
  const found = verdict('a turn begins when the turn that it follows has ended, so that it reads all of its branch');
  const { rows } = await database.query<Row>(
    `SELECT t.thread_id, to_jsonb(t.*) - 'cursor' - 'toolset' AS turn, to_jsonb(p.*) - 'cursor' - 'toolset' AS before,
        p.completed_at IS NULL OR p.completed_at > t.started_at AS overlaps
      FROM tasks t JOIN tasks p ON p.id = t.previous_task_id WHERE p.started_at IS NOT NULL AND t.started_at IS NOT NULL`,
  );
  for (const { thread_id, turn, before, overlaps } of rows)
    hold(
      found,
      !overlaps,
      () => `${thread_id}: a turn began before the one that it follows had ended: ${describe(turn)}; ${describe(before)}`,
    );
  return found;
};

export const MESSAGE_CHECKS: Check[] = [receiptsAreFinal, messagesAreReadOnce, orderIsKept, branchesAreReadWhole];
