import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const REPAIRS = 'test/temporal/reconciler.test.ts';
const NEIGHBOURS = 'test/temporal/reconciler-neighbours.test.ts';
const CONTINUITY = 'test/temporal/continuity.test.ts';
const PARKED = 'test/temporal/parked-behind.test.ts';
const OLDER = 'test/temporal/older-engine.test.ts';
const ALERTS = 'test/temporal/alerts.test.ts';
const SCHEDULES = 'test/temporal/schedules.test.ts';
const BUDGETS = 'test/temporal/budgets.test.ts';
type Test = [file: string, name: string];

const LOST: Test = [BUDGETS, 'counts for half a minute, and is then removed, like what else nobody needs'];
const AS_THEY_ARE: Test = [NEIGHBOURS, 'a run in progress and the one that waits behind it, whatever is wrong elsewhere'];
const FAILING: Test = [
  'test/temporal/cron-schedules.test.ts',
  'is disabled once that many runs in a row have failed, with the reason, and continues when it is enabled',
];
const DECISIONS: Test = [NEIGHBOURS, 'a call that nobody has decided about, while it delivers a decision about the same call'];
const INTERRUPTS: Test = [NEIGHBOURS, 'repeats the halt of an interrupt that was not delivered, and halts no run'];
const UNUSED: Test = [REPAIRS, 'removes workflows that were made for one request which never came to run, and no others'];
const DELTAS: Test = ['test/api/retention.test.ts', 'of tasks that ended more than a day ago are removed'];
const TABLES: Test = ['test/api/retention.test.ts', 'loses its old rows if they are to be removed, and no other row'];
const TIDYING: Test = ['test/temporal/retention.test.ts', 'removes old tasks, and what they kept on disk'];
const PARTITIONS: Test = ['test/temporal/retention.test.ts', 'makes partitions of events before they are needed'];
const PARTITIONED: Test = [
  'test/api/event-partitions.test.ts',
  'are accepted without a partition, and move to theirs once it is made',
];
const MESSAGES: Test = [NEIGHBOURS, 'delivers one that no delivery is in progress for, and repeats none that was delivered'];

/** For each row of the page, by how it begins: the tests that break the world in that way, and those that leave a healthy neighbour alone. */
const ROWS: Record<string, { breaks: Test[]; spares: Test[] }> = {
  'a recorded task that the engine does not know': {
    breaks: [
      [REPAIRS, 'starts a task that the engine never had'],
      [REPAIRS, 'starts a fork that the engine never received'],
    ],
    spares: [[NEIGHBOURS, 'a task whose run is only just being started'], AS_THEY_ARE],
  },
  'a task that has not ended, but whose execution was ended from outside': {
    breaks: [[REPAIRS, 'fails a task whose run was ended in the engine, keeps its text, and lets the next one proceed']],
    spares: [AS_THEY_ARE],
  },
  'a task that has not ended, but whose execution has ended by itself': {
    breaks: [[CONTINUITY, 'waits if the engine has seen its end']],
    spares: [AS_THEY_ARE],
  },
  'a parked run whose execution waits for what the record does not have': {
    breaks: [[PARKED, 'is found by the reconciler, once, and a halt does not say that the call was not made']],
    spares: [[PARKED, 'asks a run once as long as it waits, and finds nothing where nothing is missing']],
  },
  'a decision to resume or fail a run that was not carried out': {
    breaks: [[CONTINUITY, 'is carried out by the reconciler if the engine did not get it, and once']],
    spares: [[CONTINUITY, 'is not made for a run that waits when the engine loses it']],
  },
  'a run that waits in the engine for a lane, a decision or a budget': {
    breaks: [[OLDER, 'when a person has decided, and the call has its result']],
    spares: [[OLDER, 'and one that waits for a person on record too is left alone']],
  },
  'an open execution whose task has ended or was deleted': {
    breaks: [[REPAIRS, 'ends an execution whose task is gone']],
    spares: [[NEIGHBOURS, 'an execution whose task ended a moment ago'], AS_THEY_ARE],
  },
  'a lane without a holder': {
    breaks: [[REPAIRS, 'gives a free lane to the task that waits for it']],
    spares: [AS_THEY_ARE],
  },
  'a decision that its run has not received': {
    breaks: [[REPAIRS, 'delivers a decision that a run did not receive'], DECISIONS],
    spares: [DECISIONS],
  },
  'a run that waits for a [budget]': {
    breaks: [[BUDGETS, 'continues by itself when the next period begins']],
    spares: [[BUDGETS, 'waits while its model has no price, if the budget is in dollars']],
  },
  'what a lost call had reserved': { breaks: [LOST], spares: [LOST] },
  'an alert whose measure has reached its threshold or fallen below it': {
    breaks: [[ALERTS, 'sends one signed message when it fires and one when it is resolved, and keeps both in its history']],
    spares: [
      [ALERTS, 'that is muted keeps its history and sends nothing; one that is disabled is not measured and fires no longer'],
    ],
  },
  'a schedule whose last runs failed': { breaks: [FAILING], spares: [FAILING] },
  'a schedule that was paused in Temporal by hand': {
    breaks: [
      [
        SCHEDULES,
        'stays paused if someone pauses it in the engine: the record takes the pause over, and enabling it ends the pause',
      ],
    ],
    spares: [[SCHEDULES, 'is enabled in the engine although an older version paused it there, which left no note']],
  },
  'an `interrupt` whose halt was not delivered': { breaks: [INTERRUPTS], spares: [INTERRUPTS] },
  'a webhook message that is to be delivered': { breaks: [MESSAGES], spares: [MESSAGES] },
  'a workflow that `/v1` or `/mcp` created': { breaks: [UNUSED], spares: [UNUSED] },
  'deltas of tasks that ended more than a day ago, idempotency keys': { breaks: [DELTAS, TABLES], spares: [DELTAS, TABLES] },
  'no partition for the events of the next eight days': { breaks: [PARTITIONS], spares: [PARTITIONED] },
  'what ended longer ago than `RETENTION_DAYS`': { breaks: [TABLES, TIDYING], spares: [TABLES, TIDYING] },
  'a workspace of a task that has ended': { breaks: [TIDYING], spares: [TIDYING] },
};

const page = read('docs/durability.md');
const section = page.slice(page.indexOf('\n## The reconciler\n') + 1).split('\n## ')[0] as string;
const found = [...section.matchAll(/^\| (?!found|---)([^|]+) \|/gm)].map(([, row]) => row as string);

it('the page on durability lists what the reconciler repairs', () => expect(found.length).toBeGreaterThan(8));

it.each(found)('the reconciler has tests for: %s', (row) => {
  const known = Object.keys(ROWS).filter((beginning) => row.startsWith(beginning));
  expect(known, 'add this row to ROWS, with a test that breaks the world so and one that leaves a neighbour alone').toHaveLength(
    1,
  );
  const { breaks, spares } = ROWS[known[0] as string] as (typeof ROWS)[string];
  expect(Math.min(breaks.length, spares.length), 'name a test that breaks the world and one that spares it').toBeGreaterThan(0);
  for (const [file, name] of [...breaks, ...spares]) expect(read(file)).toMatch(new RegExp(`it\\('${escaped(name)}`));
});

it('the reconciler has no tests for rows that the page has lost', () => {
  expect(Object.keys(ROWS).filter((beginning) => !found.some((row) => row.startsWith(beginning)))).toEqual([]);
});

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
