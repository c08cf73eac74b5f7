import { findStepGap } from '../../../domain/continuity.ts';
import { applyFallback, getPosition, leaveOutForeign } from '../../../domain/fallback.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import type { ExchangeOrder, ExchangeResult } from '../../../domain/run-loop.ts';
import { isTerminal } from '../../../domain/statuses.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import { requireAdmission } from '../admission.ts';
import { haltFailure, isHalt, runAttempt, taskEnded } from '../attempt.ts';
import { parkRunBehind } from '../continuity.ts';
import { noteHaltedCall } from '../halted-calls.ts';
import type { RunSecrets } from '../secrets.ts';
import { askModel } from './ask.ts';
import { dropReservation, type ExchangeAttempt, type ExchangePorts, settleReservation } from './attempt.ts';
import { beginStep } from './begin.ts';
import { noteFailure } from './failure.ts';
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
  const opened = first ?? (await ports.runs.open(task_id, order.step));
  if (!opened || isTerminal(opened.status)) throw taskEnded(task_id, opened?.status);
  if (opened.recorded) return getRecordedCalls(opened, order.step);
  if (opened.halt_requested) throw haltFailure();
  const missing = findStepGap(order, opened);
  if (missing) return parkRunBehind(ports, opened, missing);
  const pinned = await ports.definition(opened.definition_hash);
  const position = getPosition(pinned, opened.fallback, { step: order.step, attempts: opened.attempts });
  const definition = applyFallback(pinned, position);
  const run = await openFor(ports, opened, { position, definition });
  const work: ExchangeAttempt = { ports, run, pinned, position, definition, order, reservation: null };
  await requireAdmission(ports, run, { provider: definition.provider, step: order.step });
  try {
    const answer = await askModel(work, await beginStep(work, signal));
    if (answer !== 'waiting') return await recordReply(work, answer, signal);
    // Its request slot goes to others if nothing was asked.
    if (!work.has_asked) await ports.giveBack(definition.provider);
    return answer;
  } catch (error) {
    if (isHalt(signal.reason)) await noteHalt(work);
    if (signal.aborted || !(error instanceof ModelFailure)) throw error;
    throw await noteFailure(work, error, signal);
  } finally {
    await dropReservation(work);
  }
}

/** Returns a run as the model at a position is shown it: without what only another model of the run understands. */
async function openFor(
  ports: ExchangePorts,
  run: OpenRun,
  { position, definition }: Pick<ExchangeAttempt, 'position' | 'definition'>,
): Promise<OpenRun> {
  if (!run.fallback) return run;
  const messages = leaveOutForeign(run.messages, { position, answered: run.fallback.answered });
  if (position === 0) return { ...run, messages };
  return { ...run, messages, cursor: null, named_window: await ports.findNamedWindow(definition) };
}

/** Counts the usage of a halted model call. */
async function noteHalt(work: ExchangeAttempt): Promise<void> {
  const { ports, run, definition, order, prices = {}, so_far, reservation } = work;
  if (!so_far) return;
  const is_recorded = await noteHaltedCall({ ports, run, definition, step: order.step, prices, so_far, reservation });
  settleReservation(work, is_recorded);
}
