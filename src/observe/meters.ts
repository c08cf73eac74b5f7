import { Counter, Histogram, Registry } from 'prom-client';
import type { FallbackReason } from '../domain/fallback-reasons.ts';
import type { TerminalStatus } from '../domain/statuses.ts';
import type { ExchangeUsage } from '../domain/usage.ts';

/** Counts the work of this process since it started. Its metrics contain no owner, no id and no text of a run. */
export interface Meters {
  runEnded(run: { status: TerminalStatus; trigger: string; seconds: number }): void;
  /** Counts one request to a model. */
  modelAsked(call: { model: string | null; outcome: CallOutcome; seconds: number }): void;
  /** Counts an answer of a model; `cost` is in US dollars. */
  modelAnswered(answer: { model: string | null; usage: ExchangeUsage; cost: number }): void;
  /** Counts a run that continued with another model. */
  fellBack(reason: FallbackReason): void;
  toolCalled(call: { tool: string; outcome: CallOutcome; seconds: number }): void;
  /** Counts an MCP server that was unreachable or broke the connection. */
  mcpFailed(server: string): void;
  /** Counts one attempt to deliver a webhook. */
  webhookSent(outcome: CallOutcome): void;
  /** Counts a webhook for which no further attempt is made. */
  webhookGivenUp(): void;
  /** Records the time between the first text of a batch and the end of its write. */
  textPublished(seconds: number): void;
  /** Records how long a frame of a stream waited between being ready and being sent. */
  frameWaited(seconds: number): void;
  /** Counts a sandbox started for a call, or for a command such as an MCP server. */
  sandboxStarted(kind: 'call' | 'command'): void;
  /** Returns the metrics in Prometheus' text format. */
  text(): Promise<string>;
}

/** `stopped`: a person halted the run, or the worker ended. */
export type CallOutcome = 'ok' | 'failed' | 'stopped';

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];
const SHORT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LONG_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];

/** The most models, tools and servers that get separate series. Users name them, so their number has no limit. */
const MOST_NAMES = 50;
const NAME_CHARACTERS = 80;
/** The label of all models, tools and servers beyond that number. */
const OTHER = 'other';
/** The label of a model that the endpoint chooses. */
const DEFAULT = 'default';

function createNameLimit(): (name: string | null) => string {
  const names = new Set<string>();
  return (name) => {
    const short = (name ?? DEFAULT).slice(0, NAME_CHARACTERS);
    if (names.size < MOST_NAMES) names.add(short);
    return names.has(short) ? short : OTHER;
  };
}

export function createMeters(): Meters {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  const run = histogram(
    'perdura_run_duration_seconds',
    'Time from the request of a run to its end',
    ['status', 'trigger'],
    LONG_SECONDS,
  );
  const model = histogram('perdura_model_call_duration_seconds', 'Time of one call of a model', ['model', 'outcome'], SECONDS);
  const tokens = counter('perdura_model_tokens_total', 'Tokens of answers', ['model', 'kind']);
  const cost = counter('perdura_model_cost_dollars_total', 'Cost of answers of models with a price', ['model']);
  const fallbacks = counter('perdura_model_fallbacks_total', 'Switches of runs to another model', ['reason']);
  const tool = histogram('perdura_tool_call_duration_seconds', 'Time of one call of a tool', ['tool', 'outcome'], SECONDS);
  const mcp = counter('perdura_mcp_errors_total', 'Failures to reach or use an MCP server', ['server']);
  const webhooks = counter('perdura_webhook_attempts_total', 'Attempts to deliver a webhook', ['outcome']);
  const given_up = counter('perdura_webhooks_given_up_total', 'Webhooks that are not tried again');
  const text_lag = histogram('perdura_text_lag_seconds', 'Time from text of a model to its record', [], SHORT_SECONDS);
  const frame_wait = histogram(
    'perdura_frame_wait_seconds',
    'Time that a frame of a stream waits for its turn to be sent',
    [],
    SHORT_SECONDS,
  );
  const sandboxes = counter('perdura_sandbox_starts_total', 'Sandboxes started for calls and commands', ['kind']);
  const names = { model: createNameLimit(), tool: createNameLimit(), server: createNameLimit() };
  return {
    runEnded: ({ status, trigger, seconds }) => run.observe({ status, trigger }, seconds),
    modelAsked: ({ model: name, outcome, seconds }) => model.observe({ model: names.model(name), outcome }, seconds),
    modelAnswered({ model: name, usage, cost: dollars }) {
      const label = names.model(name);
      tokens.inc({ model: label, kind: 'input' }, usage.total_in);
      tokens.inc({ model: label, kind: 'output' }, usage.total_out);
      tokens.inc({ model: label, kind: 'cache_read' }, usage.cache_read);
      tokens.inc({ model: label, kind: 'cache_write' }, usage.cache_write);
      cost.inc({ model: label }, dollars);
    },
    fellBack: (reason) => fallbacks.inc({ reason }),
    toolCalled: ({ tool: name, outcome, seconds }) => tool.observe({ tool: names.tool(name), outcome }, seconds),
    mcpFailed: (server) => mcp.inc({ server: names.server(server) }),
    webhookSent: (outcome) => webhooks.inc({ outcome }),
    webhookGivenUp: () => given_up.inc(),
    textPublished: (seconds) => text_lag.observe(seconds),
    frameWaited: (seconds) => frame_wait.observe(seconds),
    sandboxStarted: (kind) => sandboxes.inc({ kind }),
    text: () => registry.metrics(),
  };
}
