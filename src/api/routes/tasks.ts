import { questionAnswers } from '../../contracts/answers.ts';
import { runBundles } from '../../contracts/run-bundles.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import type { BudgetLimits } from '../../domain/budget.ts';
import type { ContinuityDecision } from '../../domain/continuity.ts';
import type { CallDecision } from '../../domain/effects.ts';
import { conflict, unprocessable } from '../../domain/errors.ts';
import { toProgress } from '../../domain/progress.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { describeUnpriced, findUnpricedModel, limitsDollars, UNPRICED_MODEL } from '../../domain/unpriced.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { WiredTask } from '../../store/runs/wired-task.ts';
import type { Engine } from '../../temporal/client/engine.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { getOwnTask, getOwnWorkflow } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';
import type { BundleBuilder, FindModelPrice } from '../ports.ts';
import { createCallDecisions } from '../service/call-decisions.ts';
import { listBuiltinErrors } from './agents.ts';
import { formatStreamUrl } from './workflows.ts';

const NO_DECISION =
  'This task does not wait for a decision about its record; a task whose definition is not on record can only be failed';

export interface TaskServices {
  store: Store;
  engine: Engine;
  dispatch: Dispatch;
  buildBundle: BundleBuilder;
  findModelPrice: FindModelPrice;
}

export function taskRoutes(api: Api, { store, engine, dispatch, buildBundle, findModelPrice }: TaskServices): void {
  const getOwn = getOwnTask(store);
  const toTaskViews = async (rows: WiredTask[]) => {
    const efforts = await store.definitions.efforts(rows.map(({ definition_hash }) => definition_hash));
    return rows.map((task) => ({
      ...task,
      reasoning_effort: (efforts.get(task.definition_hash) ?? null) as Task['reasoning_effort'],
      engine_run_url: engine.runUrl(task.id),
    }));
  };
  const toTaskView = async (task: WiredTask) => (await toTaskViews([task]))[0] as Awaited<ReturnType<typeof toTaskViews>>[number];
  const page = async (filter: Parameters<Store['tasks']['list']>[0]) => {
    const task_page = await store.tasks.list(filter);
    return { ...task_page, items: await toTaskViews(task_page.items) };
  };

  const loadFigures = async (task: WiredTask) => {
    const { elapsed_seconds, completed_at, budget } = task;
    const definition = await store.definitions.find(task.definition_hash);
    const until = completed_at ? new Date(completed_at) : new Date();
    const { waiting_ms, forks } = await store.inspection.figures(task.id, until);
    const waiting_seconds = elapsed_seconds === null ? null : Math.min(elapsed_seconds, waiting_ms / 1000);
    return {
      waiting_seconds,
      working_seconds: elapsed_seconds === null ? null : elapsed_seconds - waiting_seconds!,
      budget: (budget as BudgetLimits | null) ?? definition?.budget ?? null,
      priced: task.usage.priced,
      forks,
    };
  };

  mount(api, tasks.list, ({ query }, caller) => page({ ...query, owner: caller.key }));
  mount(api, tasks.errors, async ({ query }, caller) =>
    (await store.tasks.errors({ ...query, owner: caller.key })).map((group) => ({
      ...group,
      last_at: group.last_at.toISOString(),
    })),
  );
  mount(api, tasks.ofWorkflow, async ({ params: { workflow_id }, query }, caller) => {
    await getOwnWorkflow(store)(workflow_id, caller);
    return page({ ...query, workflow_id });
  });
  mount(api, tasks.get, async ({ params: { id }, query: { include } }, caller) => {
    const task = await getOwn(id, caller);
    const figures = await loadFigures(task);
    const { messages, logs } = include.length > 0 ? await store.workflows.lastRun(id) : { messages: [], logs: [] };
    return {
      ...(await toTaskView(task)),
      ...figures,
      waiting_messages: isTerminal(task.status) ? [] : await store.messages.listWaiting(id),
      ...(include.includes('messages') ? { messages } : {}),
      ...(include.includes('logs') ? { logs } : {}),
      ...(include.includes('steps') ? { steps_detail: await store.inspection.steps(id) } : {}),
    };
  });
  mount(api, tasks.progress, async ({ params: { id } }, caller) => {
    await getOwn(id, caller);
    return toProgress(await store.tasks.todos(id));
  });
  mount(api, tasks.steps, async ({ params: { id } }, caller) => {
    await getOwn(id, caller);
    return store.inspection.steps(id);
  });
  mount(api, runBundles.get, async ({ params: { id } }, caller) => buildBundle(await getOwn(id, caller), caller));
  mount(api, tasks.fork, async ({ params: { id }, body, reserved_id: task_id, claim, note }, caller) => {
    const source = await getOwn(id, caller);
    const { workflow_id } = source;
    refuseUnknownBuiltins(body.changes);
    const { key: owner, login: owner_login, access_token } = caller;
    const asker = { owner, owner_login, access_token, service_key_id: caller.service_key?.id };
    const { warnings, ...new_fork } = await dispatch.fork({ ...body, source, task_id, claim, workflow_id, ...asker });
    note(...warnings.map((message) => ({ path: 'from_step', message })));
    const forked_from = { task_id: id, step: body.from_step, effects: body.effects };
    return { ...new_fork, stream_url: formatStreamUrl(new_fork), forked_from };
  });
  mount(api, tasks.stop, async ({ params: { id } }, caller) => {
    const { status, workflow_id } = await getOwn(id, caller);
    if (isTerminal(status)) throw conflict(`This task is ${status}; there is nothing to stop`, 'task_ended');
    await dispatch.halt(id);
    return { status: 'halt_requested' as const, workflow_id };
  });

  /** Throws 422 if the model of a run has no price, so that a limit in dollars cannot hold. */
  const refuseUnpriced = async ({ definition_hash, unpriced_models }: WiredTask) => {
    const definition = await store.definitions.find(definition_hash);
    const sources = { findModelPrice, findProvider: store.providers.find };
    const unpriced = definition && (await findUnpricedModel(definition, sources, unpriced_models));
    if (unpriced) throw unprocessable([{ path: 'max_cost_usd', message: describeUnpriced(unpriced) }], UNPRICED_MODEL);
  };
  mount(api, tasks.budget, async ({ params: { id }, body }, caller) => {
    const task = await getOwn(id, caller);
    if (limitsDollars(body)) await refuseUnpriced(task);
    if (!(await store.tasks.setBudget(id, body)))
      throw conflict('This task has ended; its budget cannot be changed', 'task_ended');
    await engine.raise(id);
    return toTaskView(await getOwn(id, caller));
  });

  const decisions = createCallDecisions({ store, engine });
  const decide = async ({ id, call_id }: { id: string; call_id: string }, decision: CallDecision, caller: Caller) => {
    const { workflow_id } = await getOwn(id, caller);
    await decisions.decide({ task_id: id, workflow_id, call_id }, decision, caller);
    return toTaskView(await getOwn(id, caller));
  };
  mount(api, tasks.approve, ({ params, body: { decision, message } }, caller) =>
    decide(params, { decision, ...(message ? { message } : {}) }, caller),
  );
  mount(api, tasks.continuity, async ({ params: { id }, body: { decision } }, caller) => {
    const { workflow_id } = await getOwn(id, caller);
    const events = [toContinuityEvent(id, decision, caller)];
    if (!(await store.continuity.decide({ task_id: id, workflow_id }, { decision, events })))
      throw conflict(NO_DECISION, 'nothing_to_decide');
    // The decision is stored: if the engine is unreachable now, the reconciler carries it out.
    await dispatch.continueRun(id).catch(() => {});
    return toTaskView(await getOwn(id, caller));
  });
  mount(api, questionAnswers.give, async ({ params: { id, call_id }, body }, caller) => {
    const { workflow_id } = await getOwn(id, caller);
    await decisions.answer({ task_id: id, workflow_id, call_id }, body, caller);
    return toTaskView(await getOwn(id, caller));
  });
  mount(api, tasks.reconcile, ({ params, body: { decision, result } }, caller) => decide(params, { decision, result }, caller));
}

function refuseUnknownBuiltins({ builtin_tools }: { builtin_tools?: string[] | undefined } = {}): void {
  const errors = builtin_tools ? listBuiltinErrors({ builtin_tools }) : [];
  if (errors.length > 0) throw unprocessable(errors.map((error) => ({ ...error, path: `changes.${error.path}` })));
}

function toContinuityEvent(id: string, decision: ContinuityDecision, { login }: Caller) {
  const { log } = createTaskEvents(id, () => new Date().toISOString());
  return log('continuity_decided', `${login} decided: ${decision}`, { decision, by: login });
}
