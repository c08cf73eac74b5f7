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
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { type RunPorts, runLoop, START } from '../../domain/run-loop.ts';
import type { RunActivities } from '../activities/index.ts';
import { deliveryIdOf, type FinalState, type RunEnd, type RunInput, runIdOf } from '../names.ts';

/** The lane is this run's now. */
export const proceed = defineSignal('proceed');
/** A person has decided about a call; the decision itself is in the ledger. */
export const decide = defineSignal<[call_id: string]>('decide');

// Recoverable failures of models and tools are counted by the activities, which end them after two retries; the attempts
// allowed here are for lost workers and for a database that is away.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

const { exchange, callTool } = proxyActivities<RunActivities>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '8s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { ...RETRY, maximumAttempts: 100 },
});

const { finish } = proxyLocalActivities<Pick<RunActivities, 'finish'>>({
  startToCloseTimeout: '30s',
  retry: RETRY,
});

/** One task: the agent loop bound to the engine. Ends failed or cancelled when the task does, so that operators see it as such. */
export async function agentRun(input: RunInput): Promise<void> {
  const { task_id, max_turns } = input;
  const signals = listen(input);
  const progress = { turns: input.state?.turns ?? 0 };
  let end: RunEnd = { status: 'completed', error: null, error_code: null };
  try {
    if (!signals.admitted()) await condition(signals.admitted);
    const { ended, state } = await runLoop(portsOf(task_id, signals, progress), { max_turns }, input.state ?? START);
    if (!ended) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof agentRun>({ task_id, max_turns, queued: false, state, decided: signals.undone() });
    }
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    end = endOf(error);
  }
  await CancellationScope.nonCancellable(() => close(task_id, { ...end, turns: progress.turns }));
  if (end.status === 'halted') throw new CancelledFailure('The run was halted');
  if (end.status === 'failed') throw ApplicationFailure.nonRetryable(end.error ?? 'failed', end.error_code ?? 'failed');
}

type Signals = ReturnType<typeof listen>;

/** What this run has been told: that it may proceed, and which of its calls a person has decided about. */
function listen({ queued, decided = [] }: RunInput) {
  let admitted = !queued;
  const pending = new Set(decided);
  setHandler(proceed, () => {
    admitted = true;
  });
  setHandler(decide, (call_id) => {
    pending.add(call_id);
  });
  return { admitted: () => admitted, take: (call_id: string) => pending.delete(call_id), undone: () => [...pending] };
}

function portsOf(task_id: string, signals: Signals, progress: { turns: number }): RunPorts {
  return {
    exchange(order) {
      progress.turns = order.turns;
      return exchange.executeWithOptions({ summary: `step ${order.step}` }, [task_id, order]);
    },
    async act({ call_id, name }) {
      const summary = `${name} (${call_id})`;
      while ((await callTool.executeWithOptions({ summary }, [task_id, call_id])) === 'waiting') {
        await condition(() => signals.take(call_id));
      }
    },
    renew: () => workflowInfo().continueAsNewSuggested,
  };
}

/** Settles the task and lets the next one in its lane proceed. */
async function close(task_id: string, end: FinalState): Promise<void> {
  const { next, webhook } = await finish(task_id, end);
  if (webhook) await sendOff(webhook);
  if (!next) return;
  try {
    await getExternalWorkflowHandle(runIdOf(next)).signal(proceed);
  } catch (error) {
    // Its task is on record as holding the lane; the reconciler starts it anew.
    log.warn('The next task in the lane has no run', { next, error });
  }
}

/** The delivery outlives this run: it may take a day. */
async function sendOff(delivery_id: string): Promise<void> {
  const options = { workflowId: deliveryIdOf(delivery_id), args: [delivery_id], parentClosePolicy: ParentClosePolicy.ABANDON };
  await startChild('webhookDelivery', options).catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}

function endOf(error: unknown): RunEnd {
  const cause = error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : error;
  const type = cause instanceof ApplicationFailure ? (cause.type ?? 'internal') : 'internal';
  if (isCancellation(error) || type === 'Halted') return { status: 'halted', error: null, error_code: null };
  return { status: 'failed', error: cause instanceof Error ? cause.message : String(cause), error_code: type };
}
