import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallSeen } from '../../domain/continuity.ts';
import { SUMMARY_BYTES, truncateToBytes } from '../../domain/engine-texts.ts';
import { type ExchangeResult, type PlannedCall, type RunPorts, runLoop, START } from '../../domain/run-loop.ts';
import type { RunActivities } from '../activities/index.ts';
import {
  BUDGET_HALT,
  type FinalState,
  queueOfRole,
  type Role,
  type RunEnd,
  type RunInput,
  TASK_ENDED,
  toDeliveryId,
  toRunId,
  UNPRICED_HALT,
  WORKFLOW_TASK_TIMEOUT,
} from '../names.ts';
import { LOST_ATTEMPTS, retryIfWorkerLost } from './lost-workers.ts';
import { asking, listen, proceed, type Signals } from './signals.ts';
import { during, type Progress, park, show, showQuestion, waits } from './waits.ts';

// The activities count failures of models and tools and unexpected ones; `retryIfWorkerLost` counts lost workers. The rest is an
// unavailable database or engine, for which a run waits indefinitely.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

const OPTIONS = {
  heartbeatTimeout: '8s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { ...RETRY, nonRetryableErrorTypes: LOST_ATTEMPTS },
} as const;

// Exceeds the longest call of a tool and the longest CLIENT_TOOL_SECONDS, for which its questions may wait.
const { callTool } = proxyActivities<RunActivities>({ ...OPTIONS, startToCloseTimeout: '25 hours' });
// Exceeds the longest MODEL_TOTAL_SECONDS, with time to prepare the model.
const { exchange } = proxyActivities<RunActivities>({ ...OPTIONS, startToCloseTimeout: '150 minutes' });

/** Makes one short try within the workflow task, which ends before that task would have to be prolonged. */
const { callTool: callBriefly } = proxyLocalActivities<Pick<RunActivities, 'callTool'>>({
  startToCloseTimeout: '2s',
  retry: { maximumAttempts: 1 },
});

/** Memories are only a convenience: they are worth one retry, but not a failed run. */
const { remember } = proxyActivities<Pick<RunActivities, 'remember'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '8s',
  retry: { ...RETRY, maximumAttempts: 2 },
});

const { finish } = proxyLocalActivities<Pick<RunActivities, 'finish'>>({
  startToCloseTimeout: '30s',
  // Longer pauses are timers: while a local activity is open, the history grows by three events in each workflow task timeout.
  localRetryThreshold: '3s',
  retry: RETRY,
});

/**
 * Runs one task: the agent loop bound to the engine. The execution fails or is cancelled with the task, so that operators see the
 * outcome.
 */
export async function agentRun(input: RunInput): Promise<void> {
  const { task_id, max_turns, renew_after, auto_memory } = input;
  const progress: Progress = {
    turns: input.state?.turns ?? 0,
    rounds: 0,
    passed: { step: input.state?.step ?? 1, denied: input.state?.denied ?? [], calls: [] },
    acts: [],
    calls: new Map(),
    parked: 0,
    waits: new Set(),
  };
  const signals = listen(input, progress);
  setHandler(waits, () => [...progress.waits]);
  setHandler(asking, (question) => showQuestion(progress, question));
  const scope = new CancellationScope();
  let end: RunEnd = { status: 'completed', error: null, error_code: null };
  try {
    const { ended, state } = await scope.run(async () => {
      if (!signals.isAdmitted())
        await park(progress, {
          on: { for: 'lane' },
          details: 'waits for its lane',
          status: 'pending',
          until: signals.isAdmitted,
        });
      return runLoop(createPorts(input, signals, progress), { max_turns }, input.state ?? START);
    });
    if (!ended) {
      await condition(allHandlersFinished);
      const again = { task_id, max_turns, queued: false, state, decided: signals.listPending() };
      return await continueAsNew<typeof agentRun>({
        ...again,
        ...(renew_after ? { renew_after } : {}),
        ...(auto_memory ? { auto_memory } : {}),
        ...(input.role_queues ? { role_queues: true } : {}),
      });
    }
    // The answer is recorded: an error from here on does not fail the run.
    if (auto_memory)
      await remember
        .executeWithOptions(toQueueOption(input, 'models'), [task_id])
        .catch((error: unknown) => log.warn('Nothing was remembered', { error }));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    end = toRunEnd(error, CancellationScope.current().consideredCancelled);
    // Other calls of the round are still running: let them end and write their results before the task ends.
    scope.cancel();
    await Promise.allSettled(progress.acts);
  }
  const { status, error, error_code } = await conclude(task_id, end, progress);
  // If the task had ended before, the execution has no status to show for it.
  show(error_code === TASK_ENDED ? null : status);
  if (status === 'halted') throw new CancelledFailure('The run was halted');
  if (status === 'failed') throw ApplicationFailure.nonRetryable(error ?? 'failed', error_code ?? 'failed');
}

/** Returns the queue of an activity, if it is not the run's own. */
const toQueueOption = ({ role_queues }: RunInput, role: Role) =>
  role_queues ? { taskQueue: queueOfRole(workflowInfo().taskQueue, role) } : {};

/** Waits, because the record is behind. A person's decision ends this execution: a resumed run gets another one. */
const parkBehind = (progress: Progress): Promise<boolean> =>
  park(progress, {
    on: { for: 'person' },
    details: 'waits for a person: the record is older than this run',
    status: 'waiting',
    until: () => false,
  });

/** Tries briefly, then leaves unfinished work to an activity, which operators see and the engine repeats. */
const orLater = <T>(briefly: () => Promise<T>, runLater: () => Promise<T>): Promise<T> =>
  briefly().catch((error: unknown) => {
    if (isCancellation(error) || isFinal(error)) throw error;
    return runLater();
  });

const isBrief = (calls: ExchangeResult): boolean =>
  typeof calls !== 'string' && calls.length > 0 && calls.every((call) => call.brief);

const isFinal = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.nonRetryable === true;

function createPorts(input: RunInput, signals: Signals, progress: Progress): RunPorts {
  const { task_id, max_turns, renew_after } = input;
  /** True if all calls of the round are brief, so that none delays another within the workflow task. */
  let brief = false;
  async function act({ call_id, name }: PlannedCall): Promise<void> {
    const summary = `${truncateToBytes(name, SUMMARY_BYTES)} (${call_id})`;
    let seen_state: CallSeen | undefined;
    const order = (): [string, string, CallSeen?] => (seen_state ? [task_id, call_id, seen_state] : [task_id, call_id]);
    const tryCall = () => callTool.executeWithOptions({ summary, ...toQueueOption(input, 'tools') }, order());
    const call = () => retryIfWorkerLost(`the call ${summary}`, tryCall);
    const callAtOnce = () => orLater(() => callBriefly.executeWithOptions({ summary }, order()), call);
    let was_taken = false;
    while (true) {
      const state = await during(progress, call_id, brief ? callAtOnce : call);
      if (state === 'done' || was_taken) progress.passed.calls.push(call_id);
      if (state === 'done') return;
      if (state === 'behind') await parkBehind(progress);
      seen_state = was_taken ? 'decided' : 'parked';
      const doubts_before = signals.countDoubts();
      const until = () => {
        const is_taken = signals.take(call_id);
        was_taken ||= is_taken;
        return is_taken || signals.countDoubts() > doubts_before;
      };
      const wait = { on: { for: 'call' as const, call_id, seen: seen_state }, status: 'waiting' as const, until };
      if (typeof state === 'object') {
        const details = `waits for the client that executes ${summary}`;
        if (!(await park(progress, { ...wait, details, at_most_ms: state.client_ms })))
          throw ApplicationFailure.nonRetryable(`The client sent no result of ${summary} in time`, 'client_call_expired');
        continue;
      }
      await park(progress, { ...wait, details: `waits for a person to decide about ${summary}` });
    }
  }
  return {
    async exchange(order) {
      progress.turns = order.turns;
      progress.rounds += 1;
      progress.acts = [];
      progress.passed = { step: order.step, denied: order.denied, calls: [] };
      setCurrentDetails(`step ${order.step}, ${order.turns} of ${max_turns} turns used`);
      while (true) {
        const summary = `step ${order.step}`;
        const options = { summary, ...toQueueOption(input, 'models') };
        const calls = await retryIfWorkerLost(summary, () => exchange.executeWithOptions(options, [task_id, order]));
        if (calls === 'behind') await parkBehind(progress);
        else if (calls !== 'waiting') {
          brief = !input.role_queues && isBrief(calls);
          return calls;
        }
        const doubts_before = signals.countDoubts();
        await park(progress, {
          on: { for: 'budget', step: order.step },
          details: 'waits for a higher budget',
          status: 'waiting',
          until: () => signals.takeRaise() || signals.countDoubts() > doubts_before,
        });
      }
    },
    act(call) {
      const acting = act(call);
      progress.acts.push(acting);
      return acting;
    },
    renew: () => workflowInfo().continueAsNewSuggested || progress.rounds === renew_after,
  };
}

/** Ends the task. If the record lacks its final answer, the run waits; only a halt can then end this execution. */
async function conclude(task_id: string, end: RunEnd, progress: Progress): Promise<RunEnd> {
  const { turns, passed } = progress;
  const closeRun = (how: RunEnd) => CancellationScope.nonCancellable(() => close(task_id, { ...how, turns, passed }));
  if ((await closeRun(end)) === 'closed') return end;
  await parkBehind(progress).catch(() => false);
  await closeRun(HALTED);
  return HALTED;
}

/** Settles the task and lets the next one in its lane proceed. `behind`: its record lacks the final answer. */
async function close(task_id: string, end: FinalState): Promise<'closed' | 'behind'> {
  const { next, webhook, behind } = await finish(task_id, end);
  if (behind) return 'behind';
  if (webhook) await sendOff(webhook);
  if (next) await passOn(next);
  return 'closed';
}

async function passOn(next: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(toRunId(next)).signal(proceed);
  } catch (error) {
    // Its task is recorded as holding the lane, so the reconciler restarts it.
    log.warn('The next task in the lane has no run', { next, error });
  }
}

const HALTED: RunEnd = { status: 'halted', error: null, error_code: null };

/** Starts the delivery, which outlives this run: it may take a day. */
async function sendOff(delivery_id: string): Promise<void> {
  await startChild('webhookDelivery', {
    workflowId: toDeliveryId(delivery_id),
    args: [delivery_id],
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    parentClosePolicy: ParentClosePolicy.ABANDON,
  }).catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}

/**
 * Converts an error into the end of the run. `is_halt_requested`: a person requested a halt, so a failed activity was not
 * retried. Its worker may have been lost before it could report the halt.
 */
function toRunEnd(error: unknown, is_halt_requested: boolean): RunEnd {
  const cause = error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : error;
  const type = cause instanceof ApplicationFailure ? (cause.type ?? 'internal') : 'internal';
  if (type === BUDGET_HALT || type === UNPRICED_HALT)
    return { status: 'halted', error: cause instanceof Error ? cause.message : null, error_code: type };
  if (is_halt_requested || isCancellation(error) || type === 'Halted') return HALTED;
  return { status: 'failed', error: cause instanceof Error ? cause.message : String(cause), error_code: type };
}
