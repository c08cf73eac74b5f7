import type { Mutant } from './mutant.ts';

const MIGRATION = 'prisma/migrations/20261123040300_event_partitions/migration.sql';
const EVENTS = 'src/store/statements/events.ts';
const TEST = 'test/api/event-partitions.test.ts';
const PLANS = 'test/api/read-plans.test.ts';

export default [
  {
    id: 'event-partitions/survivors',
    file: 'prisma/functions/drop_events.sql',
    text: "    EXECUTE format('INSERT INTO %I SELECT * FROM %I WHERE task_id = ANY ($1)', p_branch, part.name) USING needed;\n",
    replacement: '',
    harm: 'A run that waits for a person for months loses its events when the others of its week are removed.',
    tests: [{ file: TEST, name: 'keeps the events of tasks that stay, and takes late ones' }],
  },
  {
    id: 'event-partitions/open-deltas',
    file: 'prisma/functions/drop_events.sql',
    text: 'OR completed_at IS NULL OR completed_at >= p_before)',
    replacement: 'OR completed_at >= p_before)',
    harm: 'A run that is halted while it speaks loses what it had said.',
    tests: [{ file: TEST, name: 'are dropped when its tasks have ended a day ago' }],
  },
  {
    id: 'event-partitions/young-week',
    file: 'prisma/functions/drop_events.sql',
    text: 'AND bounds[2]::uuid <= first_task_id(p_before) ORDER BY',
    replacement: 'AND bounds[1]::uuid <= first_task_id(p_before) ORDER BY',
    harm: 'The partition that new runs write to is dropped, and each of them waits for it.',
    tests: [{ file: TEST, name: 'are dropped when its tasks have ended a day ago' }],
  },
  {
    id: 'event-partitions/many-survivors',
    file: 'prisma/functions/drop_events.sql',
    text: 'OR moving > 20000',
    replacement: '',
    harm: 'Every writer waits while a hundred thousand events of waiting runs are copied.',
    tests: [{ file: TEST, name: 'stays as a whole while tasks with more than twenty thousand events stay' }],
  },
  {
    id: 'event-partitions/waits-for-users',
    file: 'prisma/functions/drop_events.sql',
    text: "SET lock_timeout = '200ms' AS $$\nDECLARE\n  part record;\n  needed uuid[];",
    replacement: 'AS $$\nDECLARE\n  part record;\n  needed uuid[];',
    harm: 'While a backup reads the events, every run waits behind the removal of old ones.',
    tests: [{ file: TEST, name: 'stays while someone uses the table, and holds nobody up' }],
  },
  {
    id: 'event-partitions/rest-stays',
    file: 'prisma/functions/make_event_partitions.sql',
    text: 'WITH moved AS (DELETE FROM %I WHERE task_id >= %L AND task_id < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
    replacement: 'WITH moved AS (SELECT %L, %L, %L) INSERT INTO %I SELECT NULL FROM moved WHERE false',
    harm: 'After some days without workers no partition can be made any more, and nothing is dropped.',
    tests: [{ file: TEST, name: 'are accepted without a partition, and move to theirs once it is made' }],
  },
  {
    id: 'event-partitions/owner',
    file: 'prisma/functions/make_event_partitions.sql',
    text: "LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$\nDECLARE\n  part record;\n  made integer",
    replacement: "LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$\nDECLARE\n  part record;\n  made integer",
    harm: 'Where the service does not own its tables, every pass of the reconciler fails.',
    tests: [{ file: TEST, name: 'have partitions also if the tables belong to another role' }],
  },
  {
    id: 'event-partitions/ids-from-elsewhere',
    file: MIGRATION,
    text: "INSERT INTO events SELECT * FROM moved', start",
    replacement: "INSERT INTO events SELECT * FROM moved WHERE false', start",
    harm: 'An upgrade loses the events of runs that were made while a clock was ahead.',
    tests: [{ file: 'test/api/event-upgrade.test.ts', name: 'events from before the partitions stay where they are' }],
  },
  {
    id: 'event-partitions/removed-task',
    file: EVENTS,
    text: '`(SELECT true FROM tasks t WHERE t.id = events.task_id)`',
    replacement: '`true`',
    harm: 'A reader of the workflow still gets the text of runs that were removed.',
    tests: [{ file: TEST, name: 'shows its events to nobody, although a part of the week is younger' }],
  },
  {
    id: 'event-partitions/logs-of-removed-task',
    file: 'src/store/workflows.ts',
    text: 'logs: (task ? logs : []).map',
    replacement: 'logs: logs.map',
    harm: 'A workflow shows the log of its last run after that was removed.',
    tests: [{ file: TEST, name: 'shows its events to nobody, although a part of the week is younger' }],
  },
  {
    id: 'event-partitions/every-partition',
    file: EVENTS,
    text: 'paged(`workflow_id = :workflow_id AND seq > :after AND ${PARTITIONS} AND ${WITH_TASK}`)',
    replacement: 'paged(`workflow_id = :workflow_id AND seq > :after AND ${WITH_TASK}`)',
    harm: 'The start of a stream takes longer with every week of the installation.',
    tests: [{ file: PLANS, name: 'read by indexes, in the partitions of the run or workflow only' }],
  },
  {
    id: 'event-partitions/deleted-workflow',
    file: 'src/store/workflows.ts',
    text: 'await rows(on, removeEventsOfWorkflow({ workflow_id: id }));',
    replacement: '',
    harm: 'What a user deletes stays in the database.',
    tests: [{ file: TEST, name: 'go with a workflow that its owner deletes' }],
  },
  {
    id: 'event-partitions/never-made',
    file: 'src/temporal/ports/tidying.ts',
    text: '    await store.retention.makePartitions();\n',
    replacement: '',
    harm: 'All events are in one table, and removing them takes as long as writing them.',
    tests: [{ file: 'test/temporal/retention.test.ts', name: 'makes partitions of events' }],
  },
] satisfies Mutant[];
