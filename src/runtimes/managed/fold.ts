import type { BetaManagedAgentsStreamSessionEvents as SessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions/events';
import { jsonText, tokenCount } from '../../domain/normalise.ts';
import type { ExchangeUsage } from '../../domain/usage.ts';
import { type CallMadeThere, ModelFailure, type ModelReply } from '../runtime.ts';

type Idle = Extract<SessionEvent, { type: 'session.status_idle' }>;
type SessionError = Extract<SessionEvent, { type: 'session.error' }>;
type Message = Extract<SessionEvent, { type: 'agent.message' }>;
type ToolEvent = Extract<SessionEvent, { type: `agent.${'' | 'mcp_'}tool_${'use' | 'result'}` }>;

/** What is done when the session rests. */
export type Rest = { kind: 'answered'; finish: string } | { kind: 'asks'; calls: ModelReply['calls'] };

/** Puts the events of one exchange together, each once, whether they come from the list or from the stream. */
export function foldEvents(emit: (delta: string) => void, answered: ReadonlySet<string>) {
  const seen = new Set<string>();
  const previews = new Map<string, string>();
  const usage: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };
  const asked = new Map<string, ModelReply['calls'][number]>();
  const made_there = new Map<string, CallMadeThere>();
  let text = '';
  let last: string | null = null;

  const say = (delta: string) => {
    text += delta;
    emit(delta);
  };
  function message({ id, content }: Message): void {
    const whole = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const told = previews.get(id);
    // The preview is best effort: what it missed follows here, and what it got wrong stays told but is not kept.
    if (told === undefined && text !== '' && whole !== '') say('\n\n');
    if (told === undefined || whole.startsWith(told)) say(whole.slice(told?.length ?? 0));
    else text = text.slice(0, text.length - told.length) + whole;
  }

  return {
    /** Takes an event; tells when the session came to rest by it. */
    take(event: SessionEvent, { counts }: { counts: boolean }): Rest | null {
      if (event.type === 'event_start') return null;
      if (event.type === 'event_delta') {
        preview(event.event_id, event.delta.content.text);
        return null;
      }
      if (seen.has(event.id)) return null;
      seen.add(event.id);
      last = event.id;
      if (event.type === 'agent.message') message(event);
      else if (event.type === 'agent.custom_tool_use')
        asked.set(event.id, { id: event.id, name: event.name, arguments: jsonText(event.input ?? {}) });
      else if (isToolEvent(event)) noteTool(made_there, event);
      else if (event.type === 'span.model_request_end') addUsage(usage, event.model_usage);
      else if (event.type === 'session.error') refuse(event, counts);
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
    /** The event up to which everything is in the reply. */
    last: () => last,
  };

  function preview(id: string, piece: string): void {
    if (seen.has(id) || !piece) return;
    if (!previews.has(id) && text !== '') say('\n\n');
    previews.set(id, (previews.get(id) ?? '') + piece);
    say(piece);
  }

  function rest({ stop_reason, stop_details }: Idle): Rest | null {
    if (stop_reason.type === 'requires_action') {
      const calls = stop_reason.event_ids.flatMap((id) => (answered.has(id) ? [] : (asked.get(id) ?? [])));
      return calls.length > 0 ? { kind: 'asks', calls } : null;
    }
    if (stop_reason.type === 'end_turn') return { kind: 'answered', finish: 'stop' };
    if (stop_reason.type === 'refusal') {
      if (text.trim() === '') say(stop_details?.explanation ?? 'The model refused to answer.');
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

/** A result whose call was told of in an exchange before stands by itself. */
function noteTool(made: Map<string, CallMadeThere>, event: ToolEvent): void {
  if (event.type === 'agent.tool_use' || event.type === 'agent.mcp_tool_use') {
    const name = 'mcp_server_name' in event ? `${event.mcp_server_name}: ${event.name}` : event.name;
    made.set(event.id, { id: event.id, name, arguments: jsonText(event.input ?? {}), result: null });
    return;
  }
  const call = made.get('tool_use_id' in event ? event.tool_use_id : event.mcp_tool_use_id);
  if (!call) return;
  const parts = (event.content ?? []).map((block) => (block.type === 'text' ? block.text : `[${block.type}]`));
  call.result = { content: parts.join('\n'), failed: event.is_error === true };
}

/** What the vendor tries again itself is no failure yet, and what was told before this exchange has been dealt with. */
function refuse({ error }: SessionError, counts: boolean): void {
  const status = 'retry_status' in error ? error.retry_status.type : 'terminal';
  if (status === 'retrying' || !counts) return;
  const code = error.type === 'model_rate_limited_error' ? 'rate_limited' : 'model_error';
  const recoverable = error.type === 'model_rate_limited_error' || error.type === 'model_overloaded_error';
  throw new ModelFailure(`The provider's session failed: ${error.message}`, { code, recoverable });
}

type ModelUsage = Extract<SessionEvent, { type: 'span.model_request_end' }>['model_usage'];

function addUsage(sum: ExchangeUsage, usage: ModelUsage): void {
  const read = tokenCount(usage.cache_read_input_tokens);
  const written = tokenCount(usage.cache_creation_input_tokens);
  // The vendor counts what came from its cache apart.
  sum.total_in += tokenCount(usage.input_tokens) + read + written;
  sum.total_out += tokenCount(usage.output_tokens);
  sum.cache_read += read;
  sum.cache_write += written;
}
