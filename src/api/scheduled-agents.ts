import { scheduledAgents } from '../contracts/scheduled-agents.ts';
import { conflict, unprocessable } from '../domain/errors.ts';
import { timeOfUuid } from '../domain/uuid.ts';
import type { Store } from '../store/index.ts';
import type { ScheduleRow, ScheduleValues } from '../store/scheduled-agents.ts';
import type { Schedules } from '../temporal/schedules.ts';
import type { Caller } from './auth.ts';
import { madeOnce } from './crud.ts';
import { type Api, mount } from './mount.ts';
import { ownedSchedule, refuseForeignWorkflow } from './owned.ts';

export interface ScheduleServices {
  store: Store;
  schedules: Schedules;
  /** Starts a run of the schedule now, as its owner. */
  fireNow(row: ScheduleRow, due_at: Date): Promise<void>;
}

export function scheduledAgentRoutes(api: Api, services: ScheduleServices): void {
  const { store, schedules, fireNow } = services;
  const owned = ownedSchedule(store);
  const answer = store.scheduledAgents.shown;
  const change = changer(services);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    scheduledAgents.get.reply?.parse(answer(await owned((params as { id: string }).id, caller)));

  mount(api, scheduledAgents.list, ({ query }, caller) => store.scheduledAgents.list({ ...query, owner: caller.key }));
  mount(api, scheduledAgents.get, async ({ params: { id } }, caller) => answer(await owned(id, caller)));
  mount(api, scheduledAgents.create, async ({ body, reserved_id: id }, caller) => {
    const row = await madeOnce(id, store.scheduledAgents.find, async () => {
      await refuseForeignWorkflow(store, body.workflow_id, caller);
      const { start_at = new Date().toISOString() } = body;
      refuseBackwards(start_at, body.end_at);
      const values = { ...body, id, start_at, owner: caller.key, owner_login: caller.login };
      return store.scheduledAgents.create(values, caller.access_token);
    });
    try {
      await schedules.save(row);
    } catch (error) {
      await store.scheduledAgents.remove(row.id);
      throw error;
    }
    return answer(row);
  });
  mount(api, scheduledAgents.update, ({ params: { id }, body }, caller) => change(id, body, caller).then(answer), { current });
  mount(api, scheduledAgents.enable, ({ params: { id } }, caller) => change(id, { enabled: true }, caller).then(answer));
  mount(api, scheduledAgents.disable, ({ params: { id } }, caller) => change(id, { enabled: false }, caller).then(answer));
  mount(
    api,
    scheduledAgents.remove,
    async ({ params: { id } }, caller) => {
      await owned(id, caller);
      await schedules.remove(id);
      await store.scheduledAgents.remove(id);
      // The reconciler may recreate the schedule between the two deletes; it also removes a schedule that is left without a row.
      await schedules.remove(id).catch(() => {});
    },
    { current },
  );
  mount(api, scheduledAgents.trigger, async ({ params: { id }, reserved_id }, caller) => {
    const row = await owned(id, caller);
    // A retried request keeps its reserved id and so its due time, and a due time is served once.
    const due_at = reserved_id === undefined ? new Date() : new Date(timeOfUuid(reserved_id));
    await fireNow(row, due_at);
    const fire = (await store.scheduledAgents.runsOf(id, { limit: 50 })).items.find((one) => one.due_at === due_at.toISOString());
    if (!fire?.task_id) throw conflict(fire?.detail ?? 'The schedule made no task', `trigger_${fire?.outcome ?? 'failed'}`);
    return fire;
  });
  mount(api, scheduledAgents.runs, async ({ params: { id }, query }, caller) => {
    const row = await owned(id, caller);
    await store.scheduledAgents.noteMissed(row, Date.now());
    return store.scheduledAgents.runsOf(id, query);
  });
}

/** Changes the row and the engine's schedule together: if the engine is unreachable, the row is restored. */
function changer({ store, schedules }: ScheduleServices) {
  const owned = ownedSchedule(store);
  return async (id: string, values: ScheduleValues, caller: Caller): Promise<ScheduleRow> => {
    const before = await owned(id, caller);
    const { start_at = before.start_at.toISOString(), end_at = before.end_at?.toISOString() ?? null } = values;
    refuseBackwards(start_at, end_at);
    await store.scheduledAgents.noteMissed(before, Date.now());
    const row = await store.scheduledAgents.update(id, values, caller.access_token);
    try {
      await schedules.save(row, { resumes: values.enabled === true });
    } catch (error) {
      await store.scheduledAgents.restore(before);
      throw error;
    }
    return row;
  };
}

function refuseBackwards(start_at: string, end_at: string | null): void {
  if (end_at !== null && Date.parse(end_at) <= Date.parse(start_at))
    throw unprocessable([{ path: 'end_at', message: 'Must be after start_at' }]);
}
