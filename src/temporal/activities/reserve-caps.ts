import { ApplicationFailure } from '@temporalio/activity';
import type { SetCallSettings } from '../../contracts/call-settings.ts';
import { splitSettings } from '../../domain/call-settings.ts';
import { type BlockingCap, type CapWarning, expectCall, explainBlock, explainWarning } from '../../domain/caps.ts';
import { type Definition, getAskedModel } from '../../domain/definition.ts';
import { createTaskEvents, DEFAULT_MODEL, type NewEvent } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { CapStore } from '../../store/runs/caps.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import type { AdmissionPorts } from './admission.ts';
import { staleAttempt } from './attempt.ts';
import type { Caps } from './caps.ts';

export interface ReservePorts extends Pick<AdmissionPorts, 'giveBack'> {
  runs: Pick<RunStore, 'wait' | 'publishDeltas'>;
  caps: Caps;
  reserveForRun: CapStore['reserveForRun'];
  now(): string;
}

interface Reservation {
  ports: ReservePorts;
  run: OpenRun;
  definition: Definition;
  selected: SelectedRuntime;
  /** The approximate number of tokens that the call sends. */
  tokens: number;
  step: number;
}

/** Thrown if the next call does not fit a budget above the run, which waits. */
export class RunWaits extends Error {}

/**
 * Reserves the next model call in the budgets above the run. Returns the id of the reservation; null if none applies. Throws `RunWaits` if
 * the call does not fit, and a failure if it never can.
 */
export async function reserveCaps(work: Reservation): Promise<string | null> {
  const { ports, run, definition, selected, tokens, step } = work;
  if (!run.has_caps) return null;
  const { max_output_tokens } = splitSettings(definition.settings).call_settings as SetCallSettings;
  const expected = expectCall(tokens, max_output_tokens, { names: [getAskedModel(definition)], prices: selected.prices });
  const call = { ...expected, task_id: run.task_id, waits: true };
  const { reservation, answer } = await ports.caps.hold((reservation) => ports.reserveForRun({ ...call, reservation }));
  if (answer?.blocked) return waitFor(work, answer.blocked);
  const events = (answer?.warnings ?? []).map((warning) => createWarningEvent(work, warning));
  if (events.length > 0) await ports.runs.publishDeltas(run, { step, events });
  return reservation;
}

/** Makes the run wait. Its request slot goes to others: nothing is asked. */
async function waitFor({ ports, run, definition, step }: Reservation, cap: BlockingCap): Promise<never> {
  const sentence = explainBlock(cap, definition.model ?? DEFAULT_MODEL);
  if (cap.reason === 'never') throw ApplicationFailure.nonRetryable(sentence, 'budget_too_small');
  const { log, status } = createTaskEvents(run.task_id, ports.now);
  const { budget_id, ends_at: until } = cap;
  const facts = { step, on_exhausted: 'wait' as const, budget_id, ...(cap.reason === 'exhausted' && { until }) };
  const events = [log('budget_exhausted', sentence, facts), status('waiting', run.turns)];
  if (!(await ports.runs.wait(run, { step, events }))) throw staleAttempt();
  await ports.giveBack(definition.provider);
  throw new RunWaits();
}

const createWarningEvent = ({ ports, run, step }: Reservation, warning: CapWarning): NewEvent =>
  createTaskEvents(run.task_id, ports.now).log('budget_warning', explainWarning(warning), {
    step,
    budget_id: warning.budget_id,
    used: warning.spent / warning.limit,
  });
