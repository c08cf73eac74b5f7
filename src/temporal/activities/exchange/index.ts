import { ApplicationFailure } from '@temporalio/activity';
import { estimateTokens } from '../../../domain/context-window.ts';
import { findStepGap } from '../../../domain/continuity.ts';
import { getAskedModel } from '../../../domain/definition.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import type { ExchangeOrder, ExchangeResult } from '../../../domain/run-loop.ts';
import { isTerminal } from '../../../domain/statuses.ts';
import { storable } from '../../../domain/transcript.ts';
import { addUsage, NO_USAGE, toUsage, usageSoFar } from '../../../domain/usage.ts';
import { createTaskEvents } from '../../../events/task-events.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import { requireAdmission } from '../admission.ts';
import { haltFailure, isHalt, retryWhileDown, runAttempt, staleAttempt, taskEnded } from '../attempt.ts';
import { parkRunBehind } from '../continuity.ts';
import { retryDelay } from '../retries.ts';
import type { RunSecrets } from '../secrets.ts';
import { askModel } from './ask.ts';
import type { ExchangeAttempt, ExchangePorts } from './attempt.ts';
import { beginStep } from './begin.ts';
import { getRecordedCalls, recordReply } from './record.ts';

/** The ports needed before the run's secrets are known. */
export interface FirstPorts {
  secrets: RunSecrets;
}

/** Runs one exchange with the model, recorded once per (task, step): a recorded step is not paid for again. */
export const exchangeActivity =
  (ports: ExchangePorts & FirstPorts) =>
  (task_id: string, order: ExchangeOrder): Promise<ExchangeEnd> =>
    runAttempt(ports.halts, task_id, async (signal) => {
      // The first step reads the run before its secrets are known, because the run determines which secrets these are.
      const first = order.step === 1 ? await ports.runs.open(task_id, 1) : undefined;
      return ports.secrets.during(task_id, () => exchangeStep(ports, [task_id, order, first], signal), first);
    });

/** The outcome of an exchange. `waiting`: the run waits for a higher budget. `behind`: it waits because its record is behind. */
type ExchangeEnd = ExchangeResult | 'waiting' | 'behind';

/** Runs the exchange, independent of the engine. */
export async function exchangeStep(
  ports: ExchangePorts,
  [task_id, order, first]: [string, ExchangeOrder, OpenRun?],
  signal: AbortSignal,
): Promise<ExchangeEnd> {
  const run = first ?? (await ports.runs.open(task_id, order.step));
  if (!run || isTerminal(run.status)) throw taskEnded(task_id, run?.status);
  if (run.recorded) return getRecordedCalls(run, order.step);
  if (run.halt_requested) throw haltFailure();
  const missing = findStepGap(order, run);
  if (missing) return parkRunBehind(ports, run, missing);
  const definition = await ports.definition(run.definition_hash);
  const work: ExchangeAttempt = { ports, run, definition, order };
  await requireAdmission(ports, run, { provider: definition.provider, step: order.step });
  try {
    const answer = await askModel(work, await beginStep(work, signal));
    return answer === 'waiting' ? answer : await recordReply(work, answer, signal);
  } catch (error) {
    if (isHalt(signal.reason)) await noteHalt(work);
    if (signal.aborted || !(error instanceof ModelFailure)) throw error;
    throw await noteFailure(work, error, signal);
  }
}

/** Counts the usage of a halted model call. Best effort: the halt does not wait for a database that is down. */
async function noteHalt({ ports, run, definition, order, prices = {}, so_far }: ExchangeAttempt): Promise<void> {
  if (!so_far) return;
  const answered = usageSoFar(so_far, estimateTokens);
  const attempt_usage = toUsage(answered, { asked: getAskedModel(definition), prices });
  const events = [createTaskEvents(run.task_id, ports.now).usage(addUsage(run, attempt_usage))];
  const attempt_note = { step: order.step, model: answered.model, usage: attempt_usage, events };
  await ports.runs.noteHalted(run, attempt_note).catch(() => false);
}

async function noteFailure(
  { ports, run, definition, order, prices = {} }: ExchangeAttempt,
  failure: ModelFailure,
  signal: AbortSignal,
): Promise<ApplicationFailure> {
  const { message, code, answer } = failure;
  const { final, delay_ms } = retryDelay(failure, { errors: run.errors, most_ms: ports.longest_wait_ms });
  const wait = `asking again in ${(delay_ms / 1_000).toFixed(1)} s`;
  const { log, usage } = createTaskEvents(run.task_id, ports.now);
  const attempt_usage = answer ? toUsage(answer, { asked: getAskedModel(definition), prices }) : NO_USAGE;
  const retried = log(code === 'rate_limited' ? 'rate_limited' : 'retry', `${storable(message)}; ${wait}`, {
    step: order.step,
    error_code: code,
    wait_ms: delay_ms,
  });
  const attempt_note = {
    step: order.step,
    error: storable(message),
    model: answer?.model ?? null,
    usage: attempt_usage,
    events: [...(answer ? [usage(addUsage(run, attempt_usage))] : []), ...(final ? [] : [retried])],
  };
  if (!(await retryWhileDown(() => ports.runs.noteError(run, attempt_note), signal))) return staleAttempt();
  return ApplicationFailure.create({ message, type: code, nonRetryable: final, nextRetryDelay: delay_ms });
}
