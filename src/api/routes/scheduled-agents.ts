import type { Warning } from '../../contracts/common.ts';
import { MOST_DUE_TIMES, scheduledAgents } from '../../contracts/scheduled-agents.ts';
import type { BudgetLimits } from '../../domain/budget.ts';
import { type Cadence, listNextDue, parseStoredCadence } from '../../domain/cadence.ts';
import { AppError, conflict, notFound, unprocessable } from '../../domain/errors.ts';
import { timeOfUuid } from '../../domain/uuid.ts';
import type { IdentityCheck } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';
import type { LaterStarts } from '../../identity/later-starts.ts';
import type { Store } from '../../store/index.ts';
import type { ScheduleRow, ScheduleValues } from '../../store/resources/scheduled-agents.ts';
import type { Schedules } from '../../temporal/client/schedules.ts';
import { chooseRunCredentials } from '../checks/later-starts.ts';
import { findModelUse, listModelWarnings } from '../checks/model-warnings.ts';
import { getOwnSchedule, refuseForeignWorkflow } from '../checks/owned.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { createOnce, getExisting } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import type { Warnings } from '../http/warnings.ts';
import { checkRecurrence, mergeRecurrence, parseCadence, pickRecurrence, refuseLongJitter } from './recurrence.ts';

export interface ScheduleServices {
  store: Store;
  schedules: Schedules;
  identify: IdentityCheck;
  mayStart: LaterStarts;
  dollar_limits: LimitChecks;
  /** Serves a due time of the schedule now, as its owner. */
  fireNow(row: ScheduleRow, fire: { due_at: Date; outcome: 'triggered' | 'backfilled' }): Promise<void>;
}

export function scheduledAgentRoutes(api: Api, services: ScheduleServices): void {
  const { store, schedules, fireNow, dollar_limits } = services;
  const getOwn = getOwnSchedule(store);
  const answer = store.scheduledAgents.toShown;
  const findLimited = createLimitFinder(services);
  const change = createChanger(services);
  const keep = createKeeper(services);
  const listModelFaults = createModelWarner(services);
  const standstill = explainStandstill(services);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(scheduledAgents.get.reply, answer(await getOwn((params as { id: string }).id, caller)));

  mount(api, scheduledAgents.list, ({ query }, caller) => store.scheduledAgents.list({ ...query, owner: caller.key }));
  mount(api, scheduledAgents.get, async ({ params: { id }, warn }, caller) => {
    const row = await getOwn(id, caller);
    const reasons = [row.disabled_reason, await standstill(row)];
    warn(...reasons.flatMap((message) => (message === null ? [] : { path: 'enabled', message })));
    return answer(row);
  });
  mount(api, scheduledAgents.create, async ({ body, reserved_id: id, warn }, caller) => {
    const row = await createOnce(id, store.scheduledAgents.find, async () => {
      await refuseForeignWorkflow(store, body.workflow_id, caller);
      await dollar_limits.refuseLimit(await findLimited(body.workflow_id), PATH);
      const recurrence = checkRecurrence(mergeRecurrence(pickRecurrence(body), {}));
      refuseLongJitter(body.jitter_seconds, recurrence);
      const values = { ...body, ...recurrence, id, owner: caller.key, owner_login: caller.login };
      const { warnings, ...kept } = await keep(body.workflow_id, caller);
      warn(...warnings, ...(await listModelFaults(body.workflow_id, caller)));
      return store.scheduledAgents.create(values, kept);
    });
    try {
      await schedules.save(row);
    } catch (error) {
      await store.scheduledAgents.remove(row.id);
      throw error;
    }
    return answer(row);
  });
  mount(api, scheduledAgents.update, ({ params: { id }, body, warn }, caller) => change(id, body, { caller, warn }), { current });
  mount(api, scheduledAgents.enable, ({ params: { id }, warn }, caller) =>
    change(id, { enabled: true, disabled_reason: null }, { caller, warn }),
  );
  // A schedule is disabled whatever its runs lack.
  mount(api, scheduledAgents.disable, ({ params: { id }, note }, caller) =>
    change(id, { enabled: false }, { caller, warn: note }),
  );
  mount(
    api,
    scheduledAgents.remove,
    async ({ params: { id } }, caller) => {
      await getOwn(id, caller);
      await schedules.remove(id);
      await store.scheduledAgents.remove(id);
      // The reconciler may recreate the schedule between the two deletes; it also removes a schedule that is left without a row.
      await schedules.remove(id).catch(() => {});
    },
    { current },
  );
  mount(api, scheduledAgents.trigger, async ({ params: { id }, reserved_id }, caller) => {
    const row = await getOwn(id, caller);
    // A retried request keeps its reserved id and so its due time, and a due time is served once.
    const due_at = reserved_id === undefined ? new Date() : new Date(timeOfUuid(reserved_id));
    await fireNow(row, { due_at, outcome: 'triggered' });
    const [fire] = await store.scheduledAgents.firesAt(id, [due_at.getTime()]);
    if (!fire) throw notFound(NOUN, id);
    if (!fire.task_id) throw conflict(fire.detail!, `trigger_${fire.outcome}`);
    return fire;
  });
  mount(api, scheduledAgents.backfill, async ({ params: { id }, body }, caller) => {
    const row = await getOwn(id, caller);
    const due = listDueTimes(row, body);
    await store.scheduledAgents.noteMissed(row, Date.now());
    const { overlap_policy } = body;
    for (const due_at of due.map((time) => new Date(time))) {
      await store.scheduledAgents.reopenFire(id, due_at);
      await fireNow({ ...row, overlap_policy }, { due_at, outcome: 'backfilled' });
    }
    return { fires: await store.scheduledAgents.firesAt(id, due) };
  });
  mount(api, scheduledAgents.upcoming, async ({ params: { id }, query: { count } }, caller) =>
    previewDueTimes(parseStoredCadence(await getOwn(id, caller)), count),
  );
  mount(api, scheduledAgents.preview, async ({ body: { count, ...recurrence } }) =>
    previewDueTimes(parseCadence(checkRecurrence(mergeRecurrence(recurrence, {}))), count),
  );
  mount(api, scheduledAgents.runs, async ({ params: { id }, query }, caller) => {
    const row = await getOwn(id, caller);
    await store.scheduledAgents.noteMissed(row, Date.now());
    return store.scheduledAgents.listRuns(id, query);
  });
}

const NOUN = 'schedule';

/** The field of a schedule that names its workflow. */
const PATH = { path: 'workflow_id' };

/** Finds the workflow of a schedule, whose limit in dollars has to hold. */
const createLimitFinder =
  ({ store }: ScheduleServices) =>
  async (workflow_id: string) => {
    const { agent_id, model, budget } = await getExisting(store.workflows, 'workflow')(workflow_id);
    return { agent_id, model, budget: budget as BudgetLimits | null };
  };

/** Chooses the caller's credentials that a schedule of a workflow stores. */
const createKeeper =
  ({ store, identify }: ScheduleServices) =>
  async (workflow_id: string, caller: Caller, before?: ScheduleRow) =>
    chooseRunCredentials(identify, caller, {
      noun: NOUN,
      path: 'workflow_id',
      uses_token: await store.workflows.usesCallerToken(workflow_id),
      kept_before: before ? store.scheduledAgents.unsealToken(before) : null,
    });

/** Returns the reason why the next runs of a schedule will not start; null: they will, or it is unknown now. */
const explainStandstill =
  ({ store, mayStart }: ScheduleServices) =>
  async (row: ScheduleRow): Promise<string | null> => {
    const unsealed_row = { ...row, access_token: store.scheduledAgents.unsealToken(row) };
    const start_facts = { noun: NOUN, uses_token: await store.workflows.usesCallerToken(row.workflow_id) };
    return mayStart(unsealed_row, start_facts).catch((error: unknown) => {
      if (error instanceof AppError) return null;
      throw error;
    });
  };

/** Warns if the model that the schedule's runs ask for ends soon or has ended, or lacks a price that a budget needs. */
const createModelWarner =
  ({ store, dollar_limits }: ScheduleServices) =>
  async (workflow_id: string, caller: Caller): Promise<Warning[]> => {
    const workflow = await store.workflows.find(workflow_id);
    if (!workflow) return [];
    const uncounted = await dollar_limits.budgets.listOfWorkflow(workflow, caller, PATH.path);
    return [...listModelWarnings(await findModelUse(store, workflow), PATH.path), ...uncounted];
  };

/** Changes the row and the engine's schedule together: if the engine is unreachable, restores the row. */
function createChanger(services: ScheduleServices) {
  const { store, schedules, dollar_limits } = services;
  const getOwn = getOwnSchedule(store);
  const findLimited = createLimitFinder(services);
  const keep = createKeeper(services);
  const listModelFaults = createModelWarner(services);
  return async (id: string, values: ScheduleValues, { caller, warn }: { caller: Caller } & Pick<Warnings, 'warn'>) => {
    const before = await getOwn(id, caller);
    const recurrence = checkRecurrence(
      mergeRecurrence(pickRecurrence(values), pickRecurrence(store.scheduledAgents.toShown(before))),
    );
    refuseLongJitter(values.jitter_seconds ?? before.jitter_seconds, recurrence);
    const limited = await findLimited(before.workflow_id);
    if (values.enabled && !before.enabled) await dollar_limits.refuseLimit(limited, PATH);
    else warn(...(await dollar_limits.listWarnings(limited, PATH.path)));
    const { warnings, ...kept } = await keep(before.workflow_id, caller, before);
    warn(...warnings, ...(await listModelFaults(before.workflow_id, caller)));
    await store.scheduledAgents.noteMissed(before, Date.now());
    const row = await store.scheduledAgents.update(id, { ...values, ...recurrence }, kept);
    try {
      await schedules.save(row, { resumes: values.enabled === true });
    } catch (error) {
      await store.scheduledAgents.restore(before);
      throw error;
    }
    return store.scheduledAgents.toShown(row);
  };
}

/** Returns the due times of the range, or throws a refusal. */
function listDueTimes(row: ScheduleRow, { from, to }: { from: string; to: string }): number[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  if (last < first) throw unprocessable([{ path: 'to', message: 'Must not be before from' }]);
  if (last > Date.now()) throw unprocessable([{ path: 'to', message: 'Must not be in the future' }]);
  const due = listNextDue(parseStoredCadence(row), { after: first - 1, count: MOST_DUE_TIMES + 1, until: last });
  if (due.length > MOST_DUE_TIMES)
    throw unprocessable([{ path: 'to', message: `The range has more than ${MOST_DUE_TIMES} due times: ask for a shorter one` }]);
  return due;
}

const previewDueTimes = (cadence: Cadence, count: number) => ({
  due_times: listNextDue(cadence, { after: Date.now(), count }).map((time) => new Date(time).toISOString()),
});
