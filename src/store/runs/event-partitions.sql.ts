import { statement } from '../database/statement.ts';

export const makeEventPartitions = statement(
  'make_event_partitions',
  ['days'],
  `SELECT make_event_partitions(now(), now() + make_interval(days => :days)) AS made`,
);

/** Drops a partition that its tasks no longer need. `branch` is events_deltas or events_lasting. */
export const dropEvents = statement('drop_events', ['branch', 'before'], `SELECT drop_events(:branch, :before) AS dropped`);

/** The tables of events that are not dropped: they hold events of tasks that have no partition. */
const DELTAS = ['events_deltas_rest'];
const ALL = [...DELTAS, 'events_lasting_rest'];

const deletion = (tables: string[], which: string) =>
  `WITH ${tables.map((table) => `of_${table} AS (DELETE FROM ${table} WHERE ${which} RETURNING 1)`).join(', ')}
    SELECT (${tables.map((table) => `(SELECT count(*) FROM of_${table})`).join(' + ')})::int AS removed`;

/** Counts the events of a task that are deleted one by one, instead of being dropped with a partition. */
export const buildDeletedCount = (task_id: string) =>
  `(${ALL.map((table) => `(SELECT count(*) FROM ${table} e WHERE e.task_id = ${task_id})`).join(' + ')})`;

/** Deletes deltas of ended tasks, whose complete messages are stored. Their tables hold nothing else. */
export const removeDeltas = statement('remove_deltas', ['task_ids'], deletion(DELTAS, `task_id = ANY (:task_ids::uuid[])`));

export const removeEvents = statement('remove_events', ['task_ids'], deletion(ALL, `task_id = ANY (:task_ids::uuid[])`));

/** Deletes all events of a deleted workflow. Its tasks no longer show in which partitions they are. */
export const removeEventsOfWorkflow = statement(
  'remove_events_of_workflow',
  ['workflow_id'],
  `DELETE FROM events WHERE workflow_id = :workflow_id`,
);
