import type { BetaManagedAgentsStreamSessionEvents as SessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions/events';
import { ModelFailure } from '../../domain/model-failure.ts';
import { jsonText, tokenCount, toText } from '../../domain/normalise.ts';
import type { ExchangeUsage } from '../../domain/usage.ts';
import type { CallMadeThere, ModelReply } from '../runtime.ts';

type Idle = Extract<SessionEvent, { type: 'session.status_idle' }>;
type SessionError = Extract<SessionEvent, { type: 'session.error' }>;
type Message = Extract<SessionEvent, { type: 'agent.message' }>;
type ToolEvent = Extract<SessionEvent, { type: `agent.${'' | 'mcp_'}tool_${'use' | 'result'}` }>;

/** The state of a resting session: it has answered, or it asks for calls. */
export type Rest = { kind: 'answered'; finish: string } | { kind: 'asks'; calls: ModelReply['calls'] };

/** Combines the events of one exchange. Each counts once, whether it comes from the list or from the stream. */
export function foldEvents(
  emit: (delta: string) => void,
  answered_ids: ReadonlySet<string>,
  report: (usage: ExchangeUsage) => void,
) {
  const seen_ids = new Set<string>();
  const previews = new Map<string, string>();
  const usage: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };
  const calls_by_id = new Map<string, ModelReply['calls'][number]>();
  const made_there = new Map<string, CallMadeThere>();
  let text = '';
  let last: string | null = null;

  const say = (delta: string) => {
    text += delta;
    emit(delta);
  };
  function message({ id, content }: Message): void {
    const whole = content.map((block) => (block.type === 'text' ? toText(block.text) : '')).join('');
    const preview_text = previews.get(id);
    // Previews are best effort: missing text follows here; wrong text was already emitted but is not stored.
    if (preview_text === undefined && text !== '' && whole !== '') say('\n\n');
    if (preview_text === undefined || whole.startsWith(preview_text)) say(whole.slice(preview_text?.length ?? 0));
    else text = text.slice(0, text.length - preview_text.length) + whole;
  }

  return {
    /** Applies an event; returns the rest if the session has come to rest. */
    take(event: SessionEvent, { counts }: { counts: boolean }): Rest | null {
      if (event.type === 'event_start') return null;
      if (event.type === 'event_delta') {
        preview(event.event_id, toText(event.delta.content.text));
        return null;
      }
      if (seen_ids.has(event.id)) return null;
      seen_ids.add(event.id);
      last = event.id;
      if (event.type === 'agent.message') message(event);
      else if (event.type === 'agent.custom_tool_use')
        calls_by_id.set(event.id, { id: event.id, name: toText(event.name), arguments: jsonText(event.input ?? {}) });
      else if (isToolEvent(event)) noteTool(made_there, event);
      else if (event.type === 'span.model_request_end') {
        addUsage(usage, event.model_usage);
        report({ ...usage });
      } else if (event.type === 'session.error') refuse(event, counts);
      else if (event.type === 'session.status_terminated' || event.type === 'session.deleted')
        throw new ModelFailure('The session at the provider was ended from outside', {
          code: 'session_ended',
          recoverable: false,
        });
      return event.type === 'session.status_idle' && counts ? rest(event) : null;
    },
    text: () => text,
    usage: () => usage,
    made_there: () => [...made_there.values()],
    /** The last event included in the reply. */
    last: () => last,
  };

  function preview(id: string, piece: string): void {
    if (seen_ids.has(id) || !piece) return;
    if (!previews.has(id) && text !== '') say('\n\n');
    previews.set(id, (previews.get(id) ?? '') + piece);
    say(piece);
  }

  function rest({ stop_reason, stop_details }: Idle): Rest | null {
    if (stop_reason.type === 'requires_action') {
      const calls = stop_reason.event_ids.flatMap((id) => (answered_ids.has(id) ? [] : (calls_by_id.get(id) ?? [])));
      return calls.length > 0 ? { kind: 'asks', calls } : null;
    }
    if (stop_reason.type === 'end_turn') return { kind: 'answered', finish: 'stop' };
    if (stop_reason.type === 'refusal') {
      if (text.trim() === '') say(toText(stop_details?.explanation) || 'The model refused to answer.');
      return { kind: 'answered', finish: 'refusal' };
    }
    throw new ModelFailure(`The session at the provider stopped: ${stop_reason.type.replaceAll('_', ' ')}`, {
      code: stop_reason.type === 'budget_reached' ? 'provider_budget' : 'model_error',
      recoverable: false,
    });
  }
}

const TOOL_EVENTS = new Set<string>(['agent.tool_use', 'agent.mcp_tool_use', 'agent.tool_result', 'agent.mcp_tool_result']);
const isToolEvent = (event: SessionEvent): event is ToolEvent => TOOL_EVENTS.has(event.type);

/** Records a tool event. A result whose call was reported in an earlier exchange stands alone. */
function noteTool(calls: Map<string, CallMadeThere>, event: ToolEvent): void {
  if (event.type === 'agent.tool_use' || event.type === 'agent.mcp_tool_use') {
    const name = 'mcp_server_name' in event ? `${toText(event.mcp_server_name)}: ${toText(event.name)}` : toText(event.name);
    calls.set(event.id, { id: event.id, name, arguments: jsonText(event.input ?? {}), result: null });
    return;
  }
  const call = calls.get('tool_use_id' in event ? event.tool_use_id : event.mcp_tool_use_id);
  if (!call) return;
  const parts = (event.content ?? []).map((block) => (block.type === 'text' ? toText(block.text) : `[${toText(block.type)}]`));
  call.result = { content: parts.join('\n'), failed: event.is_error === true };
}

/** The codes of failures that the vendor's types of errors stand for; every other type is a `model_error`. */
const ERROR_CODES: Record<string, string> = {
  model_rate_limited_error: 'rate_limited',
  billing_error: 'quota_exhausted',
};

/**
 * Throws for a session's error. An error that the vendor retries is not a failure yet; one from before this exchange was already
 * handled.
 */
function refuse({ error }: SessionError, counts: boolean): void {
  const status = 'retry_status' in error ? error.retry_status.type : 'terminal';
  if (status === 'retrying' || !counts) return;
  const code = ERROR_CODES[error.type] ?? 'model_error';
  const recoverable = error.type === 'model_rate_limited_error' || error.type === 'model_overloaded_error';
  const reason = toText(error.message) || 'it gives no reason';
  throw new ModelFailure(`The provider's session failed: ${reason}`, { code, recoverable });
}

type ModelUsage = Extract<SessionEvent, { type: 'span.model_request_end' }>['model_usage'];

function addUsage(sum: ExchangeUsage, usage: ModelUsage): void {
  const read = tokenCount(usage.cache_read_input_tokens);
  const written_tokens = tokenCount(usage.cache_creation_input_tokens);
  // The vendor counts cached tokens separately.
  sum.total_in += tokenCount(usage.input_tokens) + read + written_tokens;
  sum.total_out += tokenCount(usage.output_tokens);
  sum.cache_read += read;
  sum.cache_write += written_tokens;
}
