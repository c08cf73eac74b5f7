import { estimateTokens } from '../../domain/context-window.ts';
import type { Definition, ModelPrices } from '../../domain/definition.ts';
import { addUsage, toPricing, toUsage, type UsageSoFar, usageSoFar } from '../../domain/usage.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';

interface HaltedCall {
  ports: { runs: Pick<RunStore, 'noteHalted'>; now(): string };
  run: OpenRun;
  definition: Definition;
  step: number;
  prices: ModelPrices;
  so_far: UsageSoFar;
  /** What is reserved for the call in budgets above the run; null: nothing. */
  reservation: string | null;
}

/**
 * Counts the usage of a halted model call. Returns true if it is recorded, which has released the reservation. Best effort: the halt does
 * not wait for a database that is down.
 */
export async function noteHaltedCall({
  ports,
  run,
  definition,
  step,
  prices,
  so_far,
  reservation,
}: HaltedCall): Promise<boolean> {
  const answered = usageSoFar(so_far, estimateTokens);
  const usage = toUsage(answered, toPricing(definition, prices));
  const events = [createTaskEvents(run.task_id, ports.now).usage(addUsage(run, usage))];
  return ports.runs.noteHalted(run, { step, model: answered.model, usage, reservation, events }).catch(() => false);
}
