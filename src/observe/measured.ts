import type { ModelPrices } from '../domain/definition.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import { type Answered, calculateCost } from '../domain/usage.ts';
import type { PublishDeltas } from '../events/publisher.ts';
import type { StreamBudget } from '../events/waiting.ts';
import type { ModelRuntime } from '../runtimes/runtime.ts';
import type { WebhookStore } from '../store/runs/webhooks.ts';
import type { PythonToolRunner } from '../toolrunner/python-tool-runner.ts';
import type { McpPool } from '../tools/mcp/pool.ts';
import type { CallOutcome, Meters } from './meters.ts';

const getElapsedSeconds = (start: number) => (performance.now() - start) / 1_000;

/** Runs work and reports its duration and outcome; `failed` decides whether a result counts as a failure. */
export async function timeWork<T>(
  work: Promise<T>,
  { signal, failed = () => false }: { signal: AbortSignal; failed?: (result: T) => boolean },
  report: (outcome: CallOutcome, seconds: number) => void,
): Promise<T> {
  const start = performance.now();
  try {
    const result = await work;
    report(failed(result) ? 'failed' : 'ok', getElapsedSeconds(start));
    return result;
  } catch (error) {
    report(signal.aborted ? 'stopped' : 'failed', getElapsedSeconds(start));
    throw error;
  }
}

/** Counts the calls of a model, its tokens and their cost. */
export function measureRuntime(runtime: ModelRuntime, prices: ModelPrices, meters: Meters): ModelRuntime {
  return {
    ...runtime,
    async exchange(input, emit, signal) {
      const reply = runtime.exchange(input, emit, signal);
      const { model } = input;
      const countAnswer = ({ usage, model: by }: Answered) =>
        meters.modelAnswered({ model: by ?? model, usage, cost: calculateCost(usage, [by, model], prices) });
      try {
        const answer = await timeWork(reply, { signal }, (outcome, seconds) => meters.modelAsked({ model, outcome, seconds }));
        countAnswer(answer.reply);
        return answer;
      } catch (error) {
        if (error instanceof ModelFailure && error.answer) countAnswer(error.answer);
        throw error;
      }
    },
  };
}

/** Measures how long text waits until it is in the record. */
export const measurePublishers =
  (publishers: PublishDeltas, meters: Meters): PublishDeltas =>
  (send) => {
    let first_delta_at: number | null = null;
    const sendTimed = async (delta: string) => {
      const start = first_delta_at;
      first_delta_at = null;
      await send(delta);
      if (start !== null) meters.textPublished(getElapsedSeconds(start));
    };
    const publisher = publishers(sendTimed);
    return {
      ...publisher,
      push(delta) {
        first_delta_at ??= performance.now();
        publisher.push(delta);
      },
    };
  };

/** Measures how long frames of streams wait to be sent. */
export const measureBudget = (budget: StreamBudget, meters: Pick<Meters, 'frameWaited'>): StreamBudget => ({
  ...budget,
  turn() {
    const start = performance.now();
    const turn = budget.turn();
    if (!turn) meters.frameWaited(0);
    return turn?.then(() => meters.frameWaited(getElapsedSeconds(start)));
  },
});

/** Counts failures of connections to MCP servers. */
export const measurePool = (pool: McpPool, meters: Meters): McpPool => ({
  ...pool,
  use: (place, work, signal, options) =>
    pool.use(place, work, signal, options).catch((error: unknown) => {
      if (!signal.aborted) meters.mcpFailed(place.target.name);
      throw error;
    }),
});

/** Counts the sandboxes that are started. */
export const measureRunner = (runner: PythonToolRunner, meters: Meters): PythonToolRunner => ({
  ...runner,
  run(call, signal) {
    meters.sandboxStarted('call');
    return runner.run(call, signal);
  },
  startConfined(command, signal) {
    meters.sandboxStarted('command');
    return runner.startConfined(command, signal);
  },
});

/** Counts attempts to deliver webhooks, and webhooks that are given up. */
export const measureWebhooks = (webhooks: WebhookStore, meters: Meters): WebhookStore => ({
  ...webhooks,
  async note(id, attempt) {
    await webhooks.note(id, attempt);
    meters.webhookSent(attempt.delivered ? 'ok' : 'failed');
  },
  async giveUp(id) {
    await webhooks.giveUp(id);
    meters.webhookGivenUp();
  },
});
