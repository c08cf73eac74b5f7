import type { RunBundle } from '../contracts/run-bundles.ts';
import { rebuildLoopState } from '../domain/fork.ts';
import { type ExchangeOrder, runLoop } from '../domain/run-loop.ts';
import type { Exchange, ModelRuntime } from '../runtimes/runtime.ts';
import { exchangeStep } from '../temporal/activities/exchange/index.ts';
import { differences } from './difference.ts';
import { replayMemory } from './memory.ts';
import { openRecording } from './recording.ts';
import { createReplayPorts, NEVER, type Replaying } from './replay.ts';

/** Thrown to end an exchange at the point where the model would be called. */
class Asked extends Error {
  readonly exchange: Exchange;
  constructor(exchange: Exchange) {
    super('The request is complete');
    this.exchange = exchange;
  }
}

const ASKED: ModelRuntime = { exchange: (exchange) => Promise.reject(new Asked(exchange)) };

/** Rebuilds the model's input at a recorded step, with the code of the activity, over the record before the step. */
export async function rebuildExchange(bundle: RunBundle, step: number): Promise<Exchange> {
  const unlimited = withoutLimits(bundle);
  const recording = openRecording(unlimited, step);
  const difference_log = differences();
  const memory = replayMemory(recording, difference_log);
  const work: Replaying = {
    judge: never,
    listOutputErrors: never,
    recording,
    memory,
    difference_log,
    inputs: new Map(),
    at: step,
  };
  const order = await rebuildOrder(bundle, step);
  try {
    await exchangeStep(createReplayPorts(work, ASKED), [bundle.task.id, order], NEVER);
  } catch (error) {
    if (error instanceof Asked) return error.exchange;
    throw error;
  }
  throw new Error(`The request of step ${step} could not be built again`);
}

const never = () => Promise.reject(new Error('No model answers here'));

/**
 * Removes the limits. The record has the outcome of budgets and full windows, so neither is checked again: a summary is on
 * record, and so is the start of the step.
 */
function withoutLimits(bundle: RunBundle): RunBundle {
  return {
    ...bundle,
    task: { ...bundle.task, budget: null },
    definition: { ...bundle.definition, budget: null },
    runtime: { keeps_context: bundle.runtime.keeps_context, context_window: Number.MAX_SAFE_INTEGER },
  };
}

/** Rebuilds the order that the loop gave the exchange of a step. */
async function rebuildOrder({ steps, transcript, definition: { settings } }: RunBundle, step: number): Promise<ExchangeOrder> {
  const readStep = (at: number) => ({
    calls: [...steps.find((one) => one.step === at)!.tool_calls].sort((a, b) => a.position - b.position),
    rejected: transcript.some((message) => message.step === at && message.kind === 'repair'),
  });
  const orders: ExchangeOrder[] = [];
  await runLoop(
    {
      exchange: async (order) => {
        orders.push(order);
        return [];
      },
      act: async () => {},
      renew: () => true,
    },
    settings,
    await rebuildLoopState(step, settings, readStep),
  );
  return orders[0]!;
}
