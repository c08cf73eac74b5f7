import { ApplicationFailure } from '@temporalio/activity';
import { findExhaustedLimit } from '../../domain/budget.ts';
import { type Definition, getAskedModel } from '../../domain/definition.ts';
import { calculateCost, sumTokens } from '../../domain/usage.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { BUDGET_HALT } from '../names.ts';
import { staleAttempt } from './attempt.ts';

interface Reservation {
  ports: { runs: Pick<RunStore, 'wait'>; now(): string };
  run: OpenRun;
  definition: Definition;
  selected: SelectedRuntime;
  /** The approximate number of tokens that the call sends. */
  tokens: number;
  step: number;
}

/**
 * Checks if the next model call fits the run's budget. Returns `waiting` if it does not and the run waits for a raise. Throws if
 * the budget demands that the run is halted.
 */
export async function reserve({ ports, run, definition, selected, tokens, step }: Reservation): Promise<'go' | 'waiting'> {
  const budget = run.budget ?? definition.budget;
  if (!budget) return 'go';
  const call = { total_in: tokens, total_out: 0, cache_read: 0, cache_write: 0 };
  const next = { cost: calculateCost(call, [getAskedModel(definition)], selected.prices), tokens, seconds: 0 };
  const reason = findExhaustedLimit(budget, { cost: run.cost, tokens: sumTokens(run), seconds: run.seconds ?? 0 }, next);
  if (!reason) return 'go';
  const { log, status } = createTaskEvents(run.task_id, ports.now);
  const exhausted = log('budget_exhausted', reason, { step, on_exhausted: budget.on_exhausted });
  const waits = budget.on_exhausted === 'wait';
  const events = waits ? [exhausted, status('waiting', run.turns)] : [exhausted];
  if (!(await ports.runs.wait(run, { step, events }))) throw staleAttempt();
  if (waits) return 'waiting';
  throw ApplicationFailure.nonRetryable(reason, BUDGET_HALT);
}
