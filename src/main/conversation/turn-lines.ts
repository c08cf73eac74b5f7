import type { TaskEvent } from '../../client/index.ts';
import { createReplyWriter } from '../remote/reply-writer.ts';
import { excerpt, findAdvice, WRITTEN_AGAIN } from '../remote/show-run.ts';
import type { Output } from './screen.ts';

/** Log events that explain what a reader sees, or why nothing happens. */
const SHOWN_LOGS = new Set<string>([
  ...['retry', 'rate_limited', 'fallback', 'fallback_ended', 'context_window_full', 'compaction', 'mcp_error'],
  ...['budget_warning', 'budget_exhausted', 'unpriced_model', 'guardrail_blocked', 'output_guardrail_violation'],
  ...['setting_left_out', 'tools_not_offered', 'record_behind', 'reconciliation_requested', 'client_call_requested'],
]);

interface Showing {
  output: Output;
  task_id: string;
  /** True if the person is asked for decisions and answers here. */
  asks: boolean;
}

const ASKED_HERE: readonly string[] = ['approval_requested', 'question_asked'];

/** Creates a printer of a turn: the model's text as it arrives, and one line for each tool call and each result. */
export function createTurnPrinter({ output, task_id, asks }: Showing): (event: TaskEvent) => void {
  const writeReply = createReplyWriter({
    live: Boolean(process.stdout.isTTY),
    write: output.write,
    endLine: output.endLine,
    restart: () => output.note(WRITTEN_AGAIN),
  });
  return (event) => {
    if (writeReply(event)) return;
    const line = formatTurnEvent(event);
    if (line !== null) output.note(line);
    if (event.type !== 'log' || (asks && ASKED_HERE.includes(event.data.event))) return;
    const advice = findAdvice(event.data, task_id);
    if (advice) output.note(advice);
  };
}

/** Formats an event of a turn as a line; null if it needs none. */
function formatTurnEvent({ type, data }: TaskEvent): string | null {
  if (type === 'message' && data.role === 'tool') return `  ← ${excerpt(`${data.name ?? ''} ${data.content}`)}`;
  if (type !== 'log') return null;
  if (data.event === 'tool_call') return `  → ${excerpt(`${data.name} ${data.arguments}`)}`;
  if (data.event === 'tool_result') {
    const given = [data.result, ...(data.files ?? []).map(({ name }) => `[${name}]`)].filter(Boolean);
    return given.length > 0 ? `  ← ${excerpt(`${data.name} ${given.join(' ')}`)}` : null;
  }
  return SHOWN_LOGS.has(data.event) ? `  · ${data.event}: ${excerpt(data.detail)}` : null;
}
