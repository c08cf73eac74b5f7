import type { RunBundle } from '../contracts/run-bundles.ts';
import type { Definition, PinnedProvider } from '../domain/definition.ts';
import type { CallDecision } from '../domain/effects.ts';
import type { RunFallback } from '../domain/fallback.ts';
import { NOT_CALLED, OUTCOME_UNKNOWN, parseDenial, type TranscriptMessage } from '../domain/transcript.ts';
import type { ModelReply } from '../runtimes/runtime.ts';
import type { OpenRun } from '../store/runs/runs.ts';
import type { OpenCall } from '../store/runs/tool-ledger.ts';

export type BundledStep = RunBundle['steps'][number];
export type BundledCall = BundledStep['tool_calls'][number];
export type BundledMessage = RunBundle['transcript'][number];

/** Thrown at the end of the record: the run was halted here, failed for an external reason, or is still in progress. */
export class RecordEnds extends Error {
  override readonly name = 'RecordEnds';
}

export const toPlaceKey = ({ step, position }: { step: number; position: number }) => `${step}/${position}`;

const LEFT_OPEN = [OUTCOME_UNKNOWN, NOT_CALLED];

export type Recording = ReturnType<typeof openRecording>;

/** Opens a bundle for lookups. With `resumed_at`, lookups behave as if an attempt at this step began now. */
export function openRecording(bundle: RunBundle, resumed_at?: number) {
  const steps = new Map(bundle.steps.map((step) => [step.step, step]));
  const messages = new Map(bundle.transcript.map((message) => [toPlaceKey(message), message]));
  const calls = new Map(bundle.steps.flatMap(({ tool_calls }) => tool_calls.map((call) => [call.call_id, call] as const)));
  const begun_at = resumed_at ?? bundle.task.forked_from?.step ?? 1;
  return {
    bundle,
    /** The first step that the run made itself; earlier ones were copied. */
    begun_at,
    step: (step: number) => steps.get(step),
    /** Returns where the run was among its fallbacks at a step. Its failures are not in the record. */
    fallbackAt(step: number): RunFallback | null {
      const fallen = bundle.steps.filter(({ fallback = 0 }) => fallback > 0);
      if (fallen.length === 0) return null;
      const answered = Object.fromEntries(fallen.map((one) => [one.step, one.fallback!]));
      return { position: answered[step] ?? 0, step, reason: 'unreachable', failures: [], seconds: 0, answered };
    },
    /** Returns when a step began; if it has no answer on record, when the run ended. */
    timeAt(at: number): string {
      const { started_at, ended_at } = steps.get(at)!;
      return (!ended_at && bundle.task.completed_at) || started_at;
    },
    message: (place: { step: number; position: number }) => messages.get(toPlaceKey(place)),
    call: (call_id: string) => calls.get(call_id),
    /** Returns the messages of a step: its reply and what followed. */
    ofStep: (step: number) => bundle.transcript.filter((message) => message.step === step && !isStandingOrSummary(message)),
    summaryAt: (step: number) => bundle.transcript.find(({ kind, told_at }) => kind === 'summary' && told_at === step),
    /**
     * Returns the messages from before the first step: the prompt, its context, and copied ones. A summary belongs to the step
     * that made it.
     */
    before: () =>
      bundle.transcript.filter(
        ({ step, kind, told_at }) => step < begun_at && (kind !== 'summary' || told_at < begun_at || told_at === resumed_at),
      ),
    reply(step: number): ModelReply {
      const message = messages.get(toPlaceKey({ step, position: 0 }));
      const recorded_step = steps.get(step);
      if (!recorded_step?.ended_at || (message?.kind !== 'reply' && message?.kind !== 'withheld'))
        throw new RecordEnds(`No model reply is on record for step ${step}`);
      const { finish, model, usage, tool_calls } = recorded_step;
      const ordered_calls = [...tool_calls].sort((a, b) => a.position - b.position);
      return {
        text: recorded_step.output ?? '',
        calls: ordered_calls.map(({ call_id: id, name, arguments: args }) => ({ id, name, arguments: args })),
        finish: finish ?? 'stop',
        model,
        usage,
        ...getReasoning(message.extra),
        extra: message.extra,
      };
    },
    outcome(call_id: string) {
      const call = calls.get(call_id);
      if (!call || call.result === null || LEFT_OPEN.includes(call.result))
        throw new RecordEnds(`No result is on record for the call ${call_id}`);
      return { content: call.result, failed: call.failed === true, denied: call.status === 'denied' };
    },
    /** Returns the decision that the person must have made. */
    decision(call_id: string): CallDecision {
      const { content, denied } = this.outcome(call_id);
      if (!denied) return { decision: 'approve' };
      const message = parseDenial(content);
      return { decision: 'deny', ...(message === undefined ? {} : { message }) };
    },
  };
}

const isStandingOrSummary = ({ kind }: BundledMessage) =>
  kind === 'prompt' || kind === 'context' || kind === 'summary' || kind === 'partial';

const getReasoning = (extra: unknown): Pick<ModelReply, 'reasoning'> => {
  const { reasoning } = Object(extra) as { reasoning?: unknown };
  return typeof reasoning === 'string' ? { reasoning } : {};
};

export const toPlainMessage = ({
  step,
  position,
  role,
  kind,
  content,
  tool_calls,
  call_id,
  extra,
}: BundledMessage): TranscriptMessage => ({
  step,
  position,
  role,
  kind,
  content,
  tool_calls,
  call_id,
  extra: extra ?? null,
});

/** Converts the definition to the form of the loop, which does not need the parts that a bundle leaves out. */
export function toDefinition({ definition, hosted_tools = [] }: RunBundle): Definition {
  const { provider, guardrails, fallbacks, ...same } = definition;
  return {
    ...same,
    ...(guardrails ? { guardrails } : {}),
    provider: provider && toProvider(provider, null),
    ...(fallbacks
      ? {
          fallbacks: fallbacks.map(({ provider: own, ...fallback }) => ({
            ...fallback,
            ...(own ? { provider: toProvider(own, LEFT_OUT) } : {}),
          })),
        }
      : {}),
    tools: hosted_tools.map((tool) => ({ kind: 'hosted', name: tool.name, tool })),
    webhooks: { completed: null, error: null },
    repository: null,
  };
}

/** Stands for the address of a fallback, which never is a vendor that keeps the conversation. */
const LEFT_OUT = 'https://left-out.invalid';

const toProvider = (provider: NonNullable<RunBundle['definition']['provider']>, base_url: string | null): PinnedProvider => ({
  api_key_token_name: null,
  base_url,
  auth_type: '',
  azure_api_version: null,
  azure_deployment: null,
  ...provider,
  context_window: null,
  requests_per_minute: null,
});

/** Returns a task as the activities see it before its first step. */
export function freshRun({ task, definition, earlier = [] }: RunBundle): OpenRun {
  const { id: task_id, workflow_id, prompt, started_at } = task;
  return {
    task_id,
    workflow_id,
    prompt,
    attachments: task.attachments ?? null,
    owner: '',
    owner_login: '',
    status: 'pending',
    halt_requested: false,
    has_caps: false,
    definition_hash: '',
    cursor: null,
    fallback: null,
    toolset: null,
    turns: 0,
    budget: definition.budget,
    caller_token: null,
    caller_key_id: null,
    started_at: started_at === null ? null : new Date(started_at),
    seconds: null,
    attempts: 0,
    errors: 0,
    recorded: false,
    follows: true,
    unended: [],
    defined: true,
    named_window: null,
    messages: [],
    waiting_messages: [],
    thread_turn: task.thread_turn ?? null,
    earlier: earlier.map((message) => ({ ...message, extra: message.extra ?? null })),
    calls: [],
    total_in: 0,
    total_out: 0,
    cache_read: 0,
    cache_write: 0,
    cost: 0,
    premium_requests: 0,
    unpriced_models: [],
  };
}

export function freshCall(
  run: OpenRun,
  call: Pick<OpenCall, 'call_id' | 'step' | 'position' | 'name' | 'arguments' | 'effect' | 'approval'>,
): OpenCall {
  const { task_id, workflow_id, turns } = run;
  return {
    ...call,
    task_id,
    workflow_id,
    turns,
    owner: '',
    owner_login: '',
    definition_hash: '',
    task_status: 'running',
    known: true,
    defined: true,
    restored: false,
    halt_requested: false,
    errors: 0,
    toolset: null,
    fork: null,
    status: 'planned',
    attempts: 0,
    decision: null,
  };
}
