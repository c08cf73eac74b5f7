import type { BundleBuilder } from '../../api/ports.ts';
import { RunBundle } from '../../contracts/run-bundles.ts';
import { type Definition, isVendor } from '../../domain/definition.ts';
import { applyFallback } from '../../domain/fallback.ts';
import { listHostedTools } from '../../domain/hosted-tools.ts';
import type { Caller } from '../../identity/caller.ts';
import { replay } from '../../replay/replay.ts';
import { selectRuntime } from '../../runtimes/select.ts';
import type { RunRecord } from '../../store/runs/inspection.ts';
import type { WiredTask } from '../../store/runs/wired-task.ts';
import { createAgentToolbox, type Toolset } from '../../tools/for-agent.ts';
import type { SharedServices } from '../core.ts';
import { createOutputGuards } from './guardrails.ts';
import { type ToolServices, toolPorts } from './runs/index.ts';
import { openAll } from './runs/secrets.ts';
import { type McpServices, mcpPorts, openMcpPool, withoutVendorTools } from './runs/tools.ts';
import { windowFinder } from './runtime-options.ts';

/** The services that describe a run: its record, its tools as they were offered, and its secrets. */
export type BundleServices = McpServices & ToolServices & Pick<SharedServices, 'secrets'>;

/** Builds runs as documents. Only fields of the schema are included, and known secrets are redacted in every text. */
export function createBundleBuilder(core: BundleServices & Pick<SharedServices, 'judge'>): BundleBuilder {
  const buildBundle = async (task: WiredTask, caller: Caller): Promise<RunBundle> => {
    const { bundle } = await loadBundle(core, task, caller);
    const { inputs } = await replay(bundle, createOutputGuards(core.judge));
    const steps = bundle.steps.map((step) => ({ ...step, input: inputs.get(step.step) ?? null }));
    return { ...bundle, steps };
  };
  // The digests of a long run occupy the processor for seconds, so bundles are made one at a time.
  let last: Promise<unknown> = Promise.resolve();
  return (task, caller) => {
    const mine = last.then(() => buildBundle(task, caller));
    last = mine.catch(() => {});
    return mine;
  };
}

/**
 * Loads a run from its record, without digests, together with the definition and record that it was made from. Known secrets are
 * redacted.
 */
export async function loadBundle(core: BundleServices, task: WiredTask, caller: Caller) {
  const definition = await core.store.definitions.get(task.definition_hash);
  const record = await core.store.inspection.record(task.id);
  const { tools, ...runtime } = await describeRuntime(core, definition, record);
  const hosted_tools = listHostedTools(definition);
  const draft = RunBundle.parse({
    format: 'perdura-run',
    version: 1,
    perdura_version: core.setting.version,
    task: { ...task, budget: record.task.budget },
    definition,
    tools,
    ...(hosted_tools.length > 0 ? { hosted_tools } : {}),
    runtime,
    ...toContent(record),
    end: task,
  });
  const redact = core.secrets.openRedactor();
  redact.know(caller.access_token);
  await core.secrets.runInScope(redact, () => openAll(core, task.id));
  return { bundle: redact.value(JSON.parse(JSON.stringify(draft))) as RunBundle, definition, record };
}

/** Returns the tools offered to the run's model, and its context window. Calls nothing and connects to nothing. */
async function describeRuntime(core: BundleServices, definition: Definition, { task }: RunRecord) {
  const keeps_context = definition.provider !== null && isVendor(definition.provider);
  const custom_tools = definition.provider !== null;
  const nobody = { access_token: '-', openToken: async () => '-' };
  const { default_runtime } = core.setting;
  const runtime = keeps_context ? await selectRuntime(definition, nobody, { default_runtime, ...NOWHERE }) : null;
  const here = runtime ? withoutVendorTools(definition, runtime) : definition;
  const pool = openMcpPool(core);
  try {
    const rules = { custom_tools, toolset: task.toolset as Toolset | null };
    const box = createAgentToolbox(here, { ...toolPorts(core), mcp: mcpPorts(core, pool) }, rules);
    const findTokens = async (asked: Definition) => (await windowFinder(core)(asked)).tokens;
    const fallback_windows = definition.fallbacks?.map((_, index) => findTokens(applyFallback(definition, index + 1)));
    return {
      context_window: await findTokens(definition),
      ...(fallback_windows ? { fallback_windows: await Promise.all(fallback_windows) } : {}),
      keeps_context,
      tools: await box.list(new AbortController().signal),
    };
  } finally {
    await pool.close();
  }
}

/** Rejects every request, for a runtime that is only asked to describe its input. */
const nowhere = () => Promise.reject(new Error('Nothing is connected to'));
const NOWHERE = { fetch: nowhere, installationFetch: nowhere, deadlines: { total_ms: 0, silence_ms: null } };

function toContent({ task, steps, messages, calls, events, earlier }: RunRecord) {
  const fork_step = task.fork_step ?? 0;
  const findStep = (at: Date) => steps.findLast(({ started_at }) => started_at <= at)?.step ?? 0;
  const resultText = (step: number, position: number) =>
    messages.find((message) => message.step === step && message.position === position)?.content ?? null;
  return {
    steps: steps.map(({ step, started_at, ended_at, ...more }, index) => ({
      ...more,
      step,
      usage: more,
      copied: step < fork_step,
      input: null,
      output: resultText(step, 0),
      started_at: started_at.toISOString(),
      ended_at: ended_at?.toISOString() ?? null,
      guardrails: events
        .filter(({ timestamp }) => timestamp >= started_at && !(steps[index + 1] && timestamp >= steps[index + 1]!.started_at))
        .flatMap(({ data }) => (data.event === 'output_guardrail_violation' ? [data] : [])),
      budget_exhausted: events.some(({ data }) => data.event === 'budget_exhausted' && data.step === step),
      tool_calls: calls
        .filter((call) => call.step === step)
        .map((call) => ({ ...call, result: resultText(step, call.position) })),
    })),
    transcript: messages.map((message) => ({ ...message, told_at: findStep(message.created_at) })),
    ...(earlier.length > 0 ? { earlier } : {}),
  };
}
