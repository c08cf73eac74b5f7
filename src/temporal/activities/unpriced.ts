import { ApplicationFailure } from '@temporalio/activity';
import { estimateTokens } from '../../domain/context-window.ts';
import { type Definition, getAskedModel } from '../../domain/definition.ts';
import { storable } from '../../domain/transcript.ts';
import {
  describeUnpriced,
  findUncountable,
  findWithoutPrice,
  limitsDollars,
  listOtherProviders,
  listUnpricedOf,
  type PresentProvider,
} from '../../domain/unpriced.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { UNPRICED_HALT } from '../names.ts';
import { staleAttempt } from './attempt.ts';

export interface PricePorts {
  runs: Pick<RunStore, 'wait'>;
  /** Returns a provider with what its models cost now; null if it was deleted. */
  findPresentProvider(provider_id: string): Promise<PresentProvider | null>;
  now(): string;
}

interface Asking {
  ports: PricePorts;
  run: OpenRun;
  definition: Definition;
  step: number;
}

/**
 * Returns the runtime with the prices of today for what the pinned ones lack, if dollars of the run may be limited: a person may have set
 * a price since.
 */
export async function addPresentPrices(
  { ports, run, definition }: Pick<Asking, 'run' | 'definition'> & { ports: Pick<PricePorts, 'findPresentProvider'> },
  selected: SelectedRuntime,
): Promise<SelectedRuntime> {
  const { provider } = definition;
  const is_limited = run.has_caps || limitsDollars(run.budget ?? definition.budget);
  const answered = listUnpricedOf(run.unpriced_models ?? [], provider?.id);
  const isPriced = () => findWithoutPrice(getAskedModel(definition), answered, selected.prices) === undefined;
  if (!provider || !is_limited || isPriced()) return selected;
  const present = await ports.findPresentProvider(provider.id);
  return { ...selected, prices: { ...present?.prices, ...selected.prices } };
}

/**
 * Checks that the cost of a run that limits dollars can be counted. Returns `waiting` if it cannot and the run waits for a price or
 * another budget. Throws if the budget demands that the run is halted. `texts`: about what the next call sends.
 */
export async function requirePrices(
  { ports, run, definition, step }: Asking,
  { prices }: Pick<SelectedRuntime, 'prices'>,
  texts: readonly string[],
): Promise<'go' | 'waiting'> {
  const unpriced = findUncountable(run, definition, { prices, others: await loadOthers({ ports, run, definition }) });
  if (!unpriced) return 'go';
  const { on_exhausted } = (run.budget ?? definition.budget)!;
  const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  const reason = storable(`${describeUnpriced(unpriced)}. The next call sends about ${tokens} tokens`);
  const { log, status } = createTaskEvents(run.task_id, ports.now);
  const model = unpriced.model === null ? null : storable(unpriced.model);
  const event = log('unpriced_model', reason, { step, on_exhausted, model, provider: unpriced.provider, tokens });
  const waits = on_exhausted === 'wait';
  const events = waits ? [event, status('waiting', run.turns)] : [event];
  if (!(await ports.runs.wait(run, { step, events }))) throw staleAttempt();
  if (waits) return 'waiting';
  throw ApplicationFailure.nonRetryable(reason, UNPRICED_HALT);
}

/** Returns the other providers whose answers had no price at that time, as they are now, by their ids. */
export async function loadOthers({
  ports,
  run,
  definition,
}: Pick<Asking, 'run' | 'definition'> & { ports: Pick<PricePorts, 'findPresentProvider'> }): Promise<
  Map<string, PresentProvider>
> {
  if (!limitsDollars(run.budget ?? definition.budget)) return new Map();
  const ids = listOtherProviders(run, definition.provider?.id);
  const found = await Promise.all(ids.map(async (id) => [id, await ports.findPresentProvider(id)] as const));
  return new Map(found.flatMap(([id, provider]) => (provider ? [[id, provider]] : [])));
}
