import { v7 as uuid } from 'uuid';
import { listCapWarnings, refuseIfSpent } from '../../domain/cap-states.ts';
import type { Definition } from '../../domain/definition.ts';
import { type AppError, conflict, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { describeUnpriced, findUnpricedModel, limitsDollars, UNPRICED_MODEL } from '../../domain/unpriced.ts';
import type { EventBus } from '../../events/bus.ts';
import type { Store } from '../../store/index.ts';
import type { AdmitTask } from '../../store/people/quota-checks.ts';
import type { VersionConfig } from '../../store/resources/versions.ts';
import type { NewTask } from '../../store/runs/new-task.ts';
import type { AskedOfRun, Asker, Snapshot } from '../../store/runs/pin.ts';
import type { CreatedTask } from '../../store/runs/tasks.ts';
import type { Engine } from '../client/engine.ts';
import type { RunLabels } from '../client/run-labels.ts';
import { toRunRules } from '../names.ts';
import { textsToAdmit } from './attached-files.ts';
import { carryOut } from './continuity.ts';
import { placeFork, planFork, type TextToAdmit } from './fork.ts';
import { laneQueue } from './lane-queue.ts';
import { type Begins, newTask, type PromptOrder } from './new-task.ts';
import type { Accepted, Dispatch, ForkOrder, Prepared, Sent, SeparateOrder, TaskOrder } from './orders.ts';
import { toPromptText, toTexts } from './prompt-texts.ts';
import { createSending } from './send.ts';
import type { Settle } from './settle.ts';
import type { Starts } from './starts.ts';

export interface DispatchOptions {
  admitTask: AdmitTask;
  store: Pick<
    Store,
    'attachments' | 'messages' | 'snapshot' | 'tasks' | 'continuity' | 'definitions' | 'forks' | 'workflows' | 'providers'
  >;
  engine: Engine;
  bus: Pick<EventBus, 'halt'>;
  starts: Starts;
  /** True if this process executes the steps of runs. */
  steps_here: boolean;
  settle: Settle;
  pinDefinition(snapshot: Snapshot, overrides?: AskedOfRun): Definition;
  findModelPrice: Parameters<typeof findUnpricedModel>[1]['findModelPrice'];
  /** Returns the settings that a definition was made from. */
  buildConfig(snapshot: Snapshot, definition: Definition): VersionConfig;
  /** Returns the reason why the guardrails refuse a prompt; null if they accept it. */
  findRefusal(definition: Definition, prompt: string, owner: string): Promise<{ message: string; code: string } | null>;
}

export function createDispatch({
  admitTask,
  store,
  engine,
  bus,
  starts,
  steps_here,
  settle,
  pinDefinition,
  findModelPrice,
  buildConfig,
  findRefusal,
}: DispatchOptions): Dispatch {
  const { endSuperseded, ...queue } = laneQueue({ store, engine, settle });

  /**
   * Removes a task. Returns false if its run has begun, or its request was claimed again. If the engine cannot start the next run
   * in the lane now, the reconciler does.
   */
  async function discard({ task_id, claim }: Pick<NewTask, 'task_id' | 'claim'>): Promise<boolean> {
    const next = await store.tasks.discard(task_id, claim);
    if (next) await engine.proceed(next).catch(() => {});
    return !(await store.tasks.find(task_id));
  }

  /** Creates the task; null: the workflow refuses it. */
  const create = (task: NewTask): Promise<CreatedTask | null> => admitTask(task.owner, (most_open) => writeTask(task, most_open));

  async function writeTask(task: NewTask, most_open: number) {
    try {
      return await store.tasks.create(task, most_open);
    } catch (error) {
      // The task may have been written nevertheless. If it cannot be removed now, the reconciler starts it.
      if (findOutage(error)) await discard(task).catch(() => {});
      throw error;
    }
  }

  async function start(
    order: TaskOrder<PromptOrder>,
    { definition, state }: Begins,
    { task_id, holder }: CreatedTask,
  ): Promise<void> {
    const queued = holder !== task_id;
    try {
      const run = { task_id, queued, ...toRunRules(definition.settings), ...(state ? { state } : {}) };
      const labels = toLabels(order, definition);
      const is_first = await engine.start(run, labels);
      // The engine may have received an earlier request for this id late, and its execution has found no task.
      if (!is_first && (await store.tasks.find(task_id))?.status === 'pending') await engine.restart(run, labels);
    } catch (error) {
      // The refusal states that nothing was started. If that is uncertain, the database's error is thrown instead. The answer of an
      // engine that did start it may be lost: then the prompt is accepted, or its repetition would be another run.
      if (await discard(order)) throw error;
    }
    // The prompt is accepted. The reconciler repeats a signal that is lost here.
    if (queued) await recheck(task_id).catch(() => {});
  }

  /** Checks a run that was started to wait: its lane may have become free, or its task may have ended, before it could be signalled. */
  async function recheck(task_id: string): Promise<void> {
    if ((await store.tasks.holder(task_id)) === task_id) await engine.proceed(task_id);
    else if (isTerminal((await store.tasks.find(task_id))?.status ?? 'halted')) await engine.halt(task_id);
  }

  /** Asks the run to end; false if the engine has none. A worker that runs it is notified at once; a later one reads the request. */
  async function requestEnd(task_id: string): Promise<boolean> {
    const has_run = await engine.halt(task_id);
    if (has_run) await store.tasks.noteHalt(task_id);
    bus.halt(task_id);
    return has_run;
  }

  async function halt(task_id: string): Promise<void> {
    if (await requestEnd(task_id)) return;
    const { turns = 0, owner = '' } = (await store.tasks.find(task_id)) ?? {};
    const { next, webhook } = await settle(task_id, { status: 'halted', error: null, error_code: null, turns });
    if (webhook) await engine.deliver({ id: webhook, owner });
    if (next) await engine.proceed(next);
    // Its run may have begun before the task was settled. A run that starts later finds that the task has ended.
    await requestEnd(task_id);
  }

  async function getSnapshot({
    workflow_id,
    owner,
    ...asker
  }: Pick<PromptOrder, 'workflow_id' | 'owner'> & Asker): Promise<Snapshot> {
    const snapshot = await store.snapshot(workflow_id, asker);
    if (!snapshot) throw notFound('workflow', workflow_id);
    if (snapshot.workflow.owner !== owner) throw foreign('workflow');
    return snapshot;
  }

  async function admit(definition: Definition, { path, text }: TextToAdmit, owner: string): Promise<void> {
    const prompt_refusal = await findRefusal(definition, text, owner);
    if (prompt_refusal) throw unprocessable([{ path, message: prompt_refusal.message }], prompt_refusal.code);
  }

  /** Throws if a fork changes to a model without a price although its budget limits dollars. */
  async function refuseUnpriced({ changes = {} }: Pick<ForkOrder, 'changes'>, definition: Definition): Promise<void> {
    const changed = (['model', 'provider_id'] as const).find((field) => changes[field] !== undefined);
    if (!changed || !limitsDollars(definition.budget)) return;
    const unpriced = await findUnpricedModel(definition, { findModelPrice, findProvider: store.providers.find });
    if (unpriced) throw unprocessable([{ path: `changes.${changed}`, message: describeUnpriced(unpriced) }], UNPRICED_MODEL);
  }

  /** Refuses a new run if a budget above it is used up. A request that is repeated may have created its task before. */
  async function admitCaps(
    { task_id, is_awaited }: Pick<TaskOrder<PromptOrder>, 'task_id' | 'is_awaited'>,
    { caps }: Snapshot,
  ): Promise<void> {
    try {
      refuseIfSpent(caps, new Date(), is_awaited);
    } catch (error) {
      if (!(await store.tasks.find(task_id))) throw error;
    }
  }

  async function launch(order: TaskOrder<PromptOrder>, begins: Begins, snapshot: Snapshot): Promise<Accepted> {
    await admitCaps(order, snapshot);
    const { workflow, caps } = snapshot;
    const default_on_busy = workflow.on_busy === 'steer' ? 'enqueue' : workflow.on_busy;
    const task = newTask(order, { ...begins, on_busy: default_on_busy });
    const created = await create(task);
    if (!created) throw refusal(workflow.status);
    await start(order, begins, created);
    const { task_id, created_at, holder } = created;
    if (holder !== task_id) starts.endTurn(task_id);
    const { workflow_id, prompt, on_busy = workflow.on_busy } = order;
    // The prompt is accepted. If the halt does not get through now, the reconciler repeats it.
    if (on_busy === 'interrupt' && holder !== task_id)
      await endSuperseded(workflow_id)
        .then(() => halt(holder))
        .catch(() => {});
    const thread_id = task.place?.thread_id ?? null;
    return { task_id, workflow_id, thread_id, status: 'pending', prompt, created_at, warnings: listCapWarnings(caps) };
  }

  /** Does the whole work of a prompt in the owner's turn: reading its inputs is half of the work. */
  const runInTurn =
    <O extends Pick<PromptOrder, 'task_id' | 'owner'>, T>(work: (order: TaskOrder<O>) => Promise<T>) =>
    (order: O): Promise<T> => {
      const { task_id = uuid(), owner } = order;
      return starts.inTurn({ task_id, owner, steps_here }, () => work({ ...order, task_id }));
    };

  /** Writes a task of an evaluation in a separate workflow, once, if `check` does not throw. */
  async function separate(order: SeparateOrder, begins: Begins, check: () => Promise<void>): Promise<Prepared> {
    const { task_id, owner, owner_login, evaluation_id } = order;
    const { agent, workflow, settings } = begins.definition;
    const labels = toLabels({ ...order, trigger: EVALUATION }, begins.definition);
    const ready = { run: { task_id, queued: false, max_turns: settings.max_turns }, labels };
    if (await store.tasks.find(task_id)) return ready;
    await check();
    const own = { id: task_id, owner, owner_login, single_use: true, evaluation_id };
    if (!(await store.workflows.find(task_id)))
      await store.workflows.create({ ...own, agent_id: agent.id, title: workflow.title });
    const task = newTask({ ...order, workflow_id: task_id, trigger: EVALUATION }, { ...begins, on_busy: 'reject' });
    if (!(await create(task))) throw refusal('active');
    return ready;
  }

  const admitOrder = async (definition: Definition, order: PromptOrder): Promise<void> => {
    const files = await textsToAdmit(store, definition, order.attachments);
    const earlier_files = await textsToAdmit(store, definition, order.given_before?.text_files);
    const earlier = earlier_files.map(({ text }) => ({ path: 'conversation', text }));
    for (const text of [...toTexts(order), ...files, ...earlier]) await admit(definition, text, order.owner);
  };

  async function startRun(order: TaskOrder<PromptOrder>, snapshot: Snapshot): Promise<Accepted> {
    const definition = pinDefinition(snapshot, order);
    await admitOrder(definition, order);
    await order.given_before?.write();
    return launch(order, { definition, config: buildConfig(snapshot, definition) }, snapshot);
  }

  async function startFork(order: TaskOrder<ForkOrder>, snapshot: Snapshot): Promise<Accepted> {
    const place = placeFork(order);
    const { definition, prompt, texts_to_admit, seed, state } = await planFork(store, order);
    await refuseUnpriced(order, definition);
    const { source, attachments = source.attachments } = order;
    const texts = [...texts_to_admit, ...(await textsToAdmit(store, definition, attachments))];
    // The workflow's present guardrails may also refuse the texts.
    for (const rules of [definition, { ...definition, guardrails: snapshot.guardrails }])
      for (const text of texts) await admit(rules, text, order.owner);
    return launch({ ...order, ...place, prompt, attachments, trigger: 'fork' }, { definition, seed, state }, snapshot);
  }

  return {
    ...queue,
    halt,
    async continueRun(task_id) {
      const task = await store.tasks.findUnfinished(task_id);
      if (task) await carryOut({ store, engine, settle, definition: store.definitions.get }, task);
    },
    prompt: runInTurn<PromptOrder, Accepted>(async (order) => {
      const snapshot = await getSnapshot(order);
      return startRun(order, snapshot);
    }),
    send: runInTurn<PromptOrder, Sent>(async (order) => {
      const snapshot = await getSnapshot(order);
      const on_busy = order.on_busy ?? snapshot.workflow.on_busy;
      const { steer, forkNextTo } = createSending({
        store,
        admitOrder,
        startRun: (given) => startRun(given, snapshot),
        startFork: (given) => startFork(given, snapshot),
      });
      if (on_busy === 'fork') return { started: await forkNextTo(order) };
      if (on_busy !== 'steer') return { started: await startRun(order, snapshot) };
      const sent = await steer(order, snapshot);
      if ('steered' in sent) starts.endTurn(order.task_id);
      return sent;
    }),
    fork: runInTurn<ForkOrder, Accepted>(async (order) => startFork(order, await getSnapshot(order))),
    async evaluate({ definition_hash, effects, ...order }) {
      const definition = await store.definitions.get(definition_hash);
      return separate(order, { definition, evaluated: { definition_hash, effects } }, async () => {
        const snapshot = await getSnapshot(order);
        refuseIfSpent(snapshot.caps, new Date());
        await admit(definition, toPromptText(order), order.owner);
        await admit({ ...definition, guardrails: snapshot.guardrails }, toPromptText(order), order.owner);
      });
    },
    judge: (order, definition) => separate(order, { definition }, async () => {}),
  };
}

function toLabels(
  { owner_login: owner, owner: principal, trigger, workflow_id }: Omit<PromptOrder, 'prompt' | 'access_token'>,
  { agent, workflow, model }: Definition,
): RunLabels {
  return { owner, principal, trigger, agent: agent.name, workflow: workflow.title ?? workflow_id, workflow_id, model };
}

const EVALUATION = 'evaluation';

function refusal(status: string): AppError {
  if (status === 'inactive')
    return conflict('This workflow is switched off; set its status to active first', 'workflow_inactive');
  return conflict(
    'A run of this workflow is in progress and on_busy is reject; wait for it, halt it, or send on_busy: enqueue',
    'workflow_busy',
  );
}
