import type { Checks } from '../api/service/health.ts';
import type { UnfinishedTask } from '../store/runs/tasks.ts';
import type { Execution } from '../temporal/client/engine.ts';
import { describeServed, describeUnserved } from '../temporal/client/queues.ts';
import { SEARCH_ATTRIBUTES } from '../temporal/names.ts';
import { missingWhileParked } from '../temporal/repair/parked-runs.ts';
import { toGraceSpan } from '../temporal/repair/reconcile-tasks.ts';
import { missingAttributes } from '../temporal/worker/housekeeping.ts';
import type { RunControl, SharedServices } from './core.ts';
import { bucketChecks, describeTools } from './wiring/checks.ts';

/** How long a run may take from its record to the engine. */
const SETTLED_MS = 120_000;
const LOOKED_AT = 200;
const PATIENCE_MS = 5_000;
const DAY_MS = 24 * 3_600_000;

/** Whether a run is parked further than its record. */
async function isAhead(
  { store, engine }: { store: SharedServices['store']; engine: RunControl['engine'] },
  task: UnfinishedTask,
  { state, place }: Execution,
): Promise<boolean> {
  if (task.record_behind !== null || state !== 'waiting') return false;
  const waits = await engine.waits(task.task_id);
  return waits !== null && (await missingWhileParked({ store, engine }, task, { place, waits })) !== null;
}

/** The checks of `doctor` beyond readiness: whether work is being done, and whether the records are true. */
export function doctorChecks(core: SharedServices, { engine, client, epoch }: RunControl): Checks {
  const { store, setting, runner } = core;
  return {
    ...bucketChecks(core),
    async workers() {
      const queues = await engine.queues();
      const unserved = describeUnserved(queues);
      if (unserved) throw new Error(unserved);
      return describeServed(queues);
    },
    async tools() {
      if (runner.isolation !== 'refused') return describeTools(runner);
      throw new Error(describeTools(runner));
    },
    async 'search attributes'() {
      const missing = await client.withDeadline(Date.now() + PATIENCE_MS, () => missingAttributes(client));
      if (missing.length === 0) return `${SEARCH_ATTRIBUTES.length} registered`;
      throw new Error(`Not registered: ${missing.join(', ')}; a worker registers them when it starts, if its account may`);
    },
    async epoch() {
      const { recorded, why } = await epoch.compare();
      if (why) throw new Error(`${why}: a new epoch is due; a worker notices within seconds`);
      if (!recorded.restored_at) return `${recorded.epoch}, never restored`;
      return `${recorded.epoch}, restored at ${recorded.restored_at}; ${await store.epoch.countRestoredTasks()} tasks from before have not ended`;
    },
    async 'stored tokens'() {
      const ungranted_tokens = await store.grants.listUngranted();
      return ungranted_tokens.length === 0
        ? 'granted wherever they are named'
        : `not granted by their owners: ${ungranted_tokens.join(', ')}; they can save these, or grant them on the page of the token`;
    },
    async tags() {
      const apart = await store.notJoined();
      return apart.length === 0
        ? 'what they join was made by the same people or an administrator'
        : `${apart.join(', ')}: others made them, so they are to be named by id`;
    },
    async 'age of records'() {
      const clock = await store.retention.agingClock();
      if (!clock) return 'not counted yet; a worker does this every hour';
      const behind_days = Math.floor((clock.now.getTime() - clock.at.getTime()) / DAY_MS);
      const progress = `counted up to ${clock.at.toISOString()}`;
      if (behind_days < 2 || setting.config.RETENTION_DAYS === 0) return progress;
      throw new Error(
        `${progress}, ${behind_days} days before the time of the database: no worker ran for so long, or its clock is wrong. ` +
          'If the clock is right, do nothing: each hour counts a day until then. If it is wrong, correct it now, or stop the workers: ' +
          'records would be removed too early',
      );
    },
    async runs() {
      const tasks = await store.tasks.listUnfinished(toGraceSpan(new Date(), SETTLED_MS));
      const some_tasks = tasks.slice(0, LOOKED_AT);
      const executions = await Promise.all(some_tasks.map(({ task_id }) => engine.execution(task_id)));
      const strays = some_tasks
        .filter(({ record_behind }, index) => ['closed', 'unknown'].includes(executions[index]!.state) && !record_behind)
        .map(({ task_id }) => task_id);
      const waiting = tasks.filter(({ status }) => status === 'waiting').length;
      const behind = tasks.filter(({ record_behind }) => record_behind !== null).length;
      const ahead = await Promise.all(some_tasks.map((task, index) => isAhead({ store, engine }, task, executions[index]!)));
      const unnoticed = some_tasks.filter((_, index) => ahead[index]).map(({ task_id }) => task_id);
      if (unnoticed.length > 0)
        throw new Error(
          `${unnoticed.length} wait for what their record does not have: ${unnoticed.slice(0, 5).join(', ')}; a worker asks their owners within a minute`,
        );
      const behind_note =
        behind === 0 ? '' : `, ${behind} because their record is older than their execution (decide: resume or fail)`;
      if (strays.length === 0)
        return `${tasks.length} in progress for more than two minutes, ${waiting} of them wait for a person${behind_note}`;
      throw new Error(
        `${strays.length} have no execution: ${strays.slice(0, 5).join(', ')}; a worker settles them within a minute`,
      );
    },
  };
}
