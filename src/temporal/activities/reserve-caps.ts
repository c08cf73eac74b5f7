import { ApplicationFailure } from '@temporalio/activity';
import {
  type BlockingCap,
  type CalledModel,
  type CapWarning,
  expectCall,
  explainBlock,
  explainWarning,
} from '../../domain/caps.ts';
import { type Definition, getAskedModel, type ModelPrices } from '../../domain/definition.ts';
import { listUnpricedOf } from '../../domain/unpriced.ts';
import { createTaskEvents, DEFAULT_MODEL, type NewEvent } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { CapStore } from '../../store/runs/caps.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { staleAttempt } from './attempt.ts';
import type { Caps } from './caps.ts';

export interface ReservePorts {
  runs: Pick<RunStore, 'wait' | 'publishDeltas'>;
  caps: Caps;
  reserveForStep: CapStore['reserveForStep'];
  now(): string;
}

interface Reservation {
  ports: ReservePorts;
  run: OpenRun;
  definition: Definition;
  selected: Pick<SelectedRuntime, 'prices'>;
  /** The approximate number of tokens that the call sends. */
  tokens: number;
  /** The most tokens of its answer; null or absent: no limit. */
  max_output?: number | null | undefined;
  step: number;
}

/** Thrown if the next call does not fit a budget above the run, which waits. */
export class RunWaits extends Error {}

/** Returns the model that a run asks, with those that have answered it without a price. */
export const toCalledModel = (run: OpenRun, definition: Definition, prices: ModelPrices): CalledModel => ({
  asked: getAskedModel(definition),
  answered: listUnpricedOf(run.unpriced_models ?? [], definition.provider?.id),
  prices,
});

/**
 * Reserves the next model call in the budgets above the run. Returns the id of the reservation; null if none applies. Throws `RunWaits` if
 * the call does not fit, and a failure if it never can.
 */
export async function reserveCaps(work: Reservation): Promise<string | null> {
  const { ports, run, definition, selected, tokens, max_output, step } = work;
  if (!run.has_caps) return null;
  const model = toCalledModel(run, definition, selected.prices);
  const call = { ...expectCall(tokens, max_output, model), task_id: run.task_id, step, attempt: run.attempts + 1 };
  const { reservation, answer } = await ports.caps.hold((reservation) => ports.reserveForStep({ ...call, reservation }));
  if (answer?.blocked) return waitFor(work, answer.blocked, model);
  const events = (answer?.warnings ?? []).map((warning) => createWarningEvent(work, warning));
  if (reservation !== null && events.length > 0) await publishWarnings(work, reservation, events);
  return reservation;
}

async function publishWarnings({ ports, run, step }: Reservation, reservation: string, events: NewEvent[]): Promise<void> {
  try {
    if (!(await ports.runs.publishDeltas(run, { step, events }))) throw staleAttempt();
  } catch (error) {
    await ports.caps.release(reservation);
    throw error;
  }
}

async function waitFor({ ports, run, step }: Reservation, cap: BlockingCap, model: CalledModel): Promise<never> {
  const sentence = explainBlock(cap, model, DEFAULT_MODEL);
  if (cap.reason === 'never') throw ApplicationFailure.nonRetryable(sentence, 'budget_too_small');
  const { log, status } = createTaskEvents(run.task_id, ports.now);
  const { budget_id, ends_at: until } = cap;
  const facts = { step, on_exhausted: 'wait' as const, budget_id, ...(cap.reason === 'exhausted' && { until }) };
  const events = [log('budget_exhausted', sentence, facts), status('waiting', run.turns)];
  if (!(await ports.runs.wait(run, { step, events, in_line: true }))) throw staleAttempt();
  // What was released before the run counted as waiting woke nobody.
  void ports.caps.wake();
  throw new RunWaits();
}

const createWarningEvent = ({ ports, run, step }: Reservation, warning: CapWarning): NewEvent =>
  createTaskEvents(run.task_id, ports.now).log('budget_warning', explainWarning(warning), {
    step,
    budget_id: warning.budget_id,
    used: warning.spent / warning.limit,
  });
