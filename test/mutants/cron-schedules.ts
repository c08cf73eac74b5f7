import type { Mutant } from './mutant.ts';

const UNIT = 'test/unit/domain/cron.test.ts';
const TEMPORAL = 'test/temporal/cron-schedules.test.ts';

export default [
  {
    id: 'cron-schedules/filler',
    file: 'src/domain/cadence.ts',
    text: "'cron' in cadence && time % UNIT_MS.minutes === 0",
    replacement: "'cron' in cadence && time % UNIT_MS.minutes !== 0",
    harm: 'A daily report is sent twice, an hour apart.',
    tests: [{ file: UNIT, name: 'the other times are fillers' }],
  },
  {
    id: 'cron-schedules/offsets',
    file: 'src/domain/cadence.ts',
    text: 'listOffsets(cadence.time_zone, now).flatMap(',
    replacement: 'listOffsets(cadence.time_zone, now).slice(0, 1).flatMap(',
    harm: 'A schedule does not run for half of the year.',
    tests: [{ file: UNIT, name: 'is in UTC, for each offset of the zone' }],
  },
  {
    id: 'cron-schedules/repeated-hour',
    file: 'src/domain/cron.ts',
    text: '`*/60 ${writeCron(cron)}`',
    replacement: '`0 ${writeCron(cron)}`',
    harm: 'On days on which clocks change, a daily run starts an hour off, or once instead of twice.',
    tests: [{ file: UNIT, name: 'skips what the clock skips' }],
  },
  {
    id: 'cron-schedules/one-waits',
    file: 'src/store/resources/schedules.sql.ts',
    text: 'AND w.active_task_id IS DISTINCT FROM t.id LIMIT 1',
    replacement: 'AND w.active_task_id = t.id LIMIT 1',
    harm: 'Runs of a slow schedule pile up although only one may wait.',
    tests: [{ file: TEMPORAL, name: 'lets one run wait with enqueue_one' }],
  },
  {
    id: 'cron-schedules/backfilled-twice',
    file: 'src/store/resources/scheduled-agents.ts',
    text: "outcome: { in: ['missed', 'skipped', 'failed'] } };",
    replacement: "outcome: { not: 'firing' } };",
    harm: 'A back-fill repeats runs that were there.',
    tests: [{ file: TEMPORAL, name: 'runs the due times of a range that have no run, once' }],
  },
  {
    id: 'cron-schedules/failures-in-a-row',
    file: 'src/store/resources/schedules.sql.ts',
    text: "AND (f.outcome = 'failed' OR t.status IN ('completed', 'failed'))",
    replacement: "AND (f.outcome = 'failed' OR t.status = 'failed')",
    harm: 'A schedule that mostly works is disabled.',
    tests: [{ file: TEMPORAL, name: 'is disabled once that many runs in a row have failed' }],
  },
  {
    id: 'cron-schedules/failures-since-saved',
    file: 'src/store/resources/schedules.sql.ts',
    text: 'AND f.fired_at > a.updated_at',
    replacement: 'AND a.updated_at IS NOT NULL',
    harm: 'A schedule that was enabled again is disabled again before it runs.',
    tests: [{ file: TEMPORAL, name: 'is disabled once that many runs in a row have failed' }],
  },
] satisfies Mutant[];
