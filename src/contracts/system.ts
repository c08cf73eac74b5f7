import { z } from 'zod';
import { Id, Timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { Check } from './health.ts';

/** The hours for which failures are listed. */
export const FAILURE_HOURS = 24;

/** A part that is read from one source. If the source does not answer, the other parts are still there. */
const part = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item).nullable().meta({ description: 'null: it could not be read, see `error`' }),
    error: z.string().nullable().meta({ description: 'Why it could not be read' }),
  });

const Worker = z.object({
  id: Id,
  name: z.string().meta({ description: 'Its process and machine, as the engine names it', example: '4711@worker-3' }),
  version: z.string(),
  build_id: z.string().nullable().meta({ description: 'WORKER_BUILD_ID: runs stay on workers of the version they began on' }),
  roles: z.array(z.string()).meta({ description: 'Which work it does: runs, models, tools' }),
  slots: z.int().meta({ description: 'How many steps and calls it runs at once' }),
  used: z.int().meta({ description: 'How many it runs now' }),
  disk_free: z.number().nullable().meta({ description: 'Free bytes on the disk of its home' }),
  started_at: Timestamp,
  seen_at: Timestamp,
  silent: z.boolean().meta({ description: 'It has not reported for 30 seconds: it is lost, or cannot reach the database' }),
});

const Queue = z.object({
  queue: z.string(),
  kind: z.enum(['workflow', 'activity']),
  waiting: z.int().meta({ description: 'Tasks of the engine that wait there, approximately' }),
  oldest_seconds: z.number(),
  workers: z.int().meta({ description: 'Workers that ask it for work' }),
});

const OpenRuns = z.object({ status: z.string(), runs: z.int(), oldest_seconds: z.number() });

const Storage = z.object({
  of: z.enum(['database', 'home']),
  used_bytes: z.number().nullable(),
  free_bytes: z.number().nullable().meta({ description: 'null: unknown; a database does not report it' }),
  total_bytes: z.number().nullable(),
  error: z.string().nullable().meta({ description: 'Why it could not be read' }),
});

const FailedRun = z.object({
  task_id: Id,
  login: z.string().meta({ description: 'Of its owner' }),
  at: Timestamp,
  own: z.boolean().meta({ description: "Whether it is the caller's; only its owner can open it" }),
});

const Failures = z.object({
  error_code: z.string(),
  runs: z.int(),
  last_at: Timestamp,
  newest: z.array(FailedRun).meta({ description: 'At most 5' }),
});

export const System = z
  .object({
    version: z.string().meta({ description: 'Of the process that answers' }),
    at: Timestamp,
    checks: z.array(z.object({ name: z.string(), ...Check.shape })).meta({ description: 'The checks of `GET /health/ready`' }),
    workers: part(Worker).meta({
      description: 'What each worker reports every 10 seconds. One that stops is removed, one that is lost after an hour',
    }),
    queues: part(Queue),
    runs: part(OpenRuns).meta({ description: 'The runs of everybody that have not ended' }),
    storage: z.array(Storage),
    failures: part(Failures).meta({
      description: `The runs of everybody that failed in the last ${FAILURE_HOURS} hours, by \`error_code\`, without what they were about`,
    }),
  })
  .meta({ id: 'System' });
export type System = z.output<typeof System>;

export const system = {
  get: endpoint('GET /api/system', {
    operation: 'get_system',
    tag: 'System',
    summary: 'How the installation is: workers, queues, storage, failures',
    description:
      'For administrators. Each part is read from its source with a limit of three seconds; a part that cannot be read has an `error`, and the others are there.',
    reply: System,
  }),
};
