import type { AttachedFile } from '../../domain/attachments.ts';
import type { ResultExtra } from '../../domain/tool-choice.ts';
import { storable } from '../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import type { ToolFile, ToolOutcome } from '../../tools/source.ts';
import { retryWhileDown } from './attempt.ts';

export interface CallEndPorts {
  ledger: Pick<ToolLedger, 'end'>;
  /**
   * Keeps the files of a result for the run's owner. Those that are too large, or for which the owner has no room, are refused with the
   * reason.
   */
  keepFiles(
    call: OpenCall,
    files: readonly ToolFile[],
  ): Promise<{ kept: AttachedFile[]; refused: { name: string; reason: string }[] }>;
  now(): string;
}

/** An outcome whose files are kept. */
export interface Kept extends Omit<ToolOutcome, 'files'> {
  extra?: ResultExtra;
}

/** Keeps the files of an outcome. Its text then names those that were not kept, with the reason. */
export async function keepFilesOf(
  { keepFiles }: Pick<CallEndPorts, 'keepFiles'>,
  { call, outcome: { files, ...outcome } }: { call: OpenCall; outcome: ToolOutcome },
  signal: AbortSignal,
): Promise<Kept> {
  if (!files?.length) return outcome;
  const { kept, refused } = await retryWhileDown(() => keepFiles(call, files), signal);
  const notes = refused.map(({ name, reason }) => `[${name} was not kept: ${reason}]`);
  return { ...outcome, content: [outcome.content, ...notes].join('\n'), ...(kept.length > 0 && { extra: { files: kept } }) };
}

export interface CallResult extends Omit<ToolOutcome, 'files'> {
  kind: 'result' | 'denial';
  duration_ms?: number;
  extra?: ResultExtra | null;
  /** Events of the attempt that are not published yet. */
  pending_events?: NewEvent[];
}

/** Writes the end of a call, with its message. Returns false if another attempt has the call. */
export async function endCall(
  ports: Pick<CallEndPorts, 'ledger' | 'now'>,
  call: OpenCall,
  { content, failed, kind, stdout, stderr, duration_ms, isolation, todos, pending_events = [], extra = null }: CallResult,
): Promise<boolean> {
  const { log, message } = createTaskEvents(call.task_id, ports.now);
  const text = storable(content);
  const { call_id, name } = call;
  const facts = {
    call_id,
    name,
    failed,
    ...(duration_ms === undefined ? {} : { duration_ms }),
    ...(isolation ? { isolation } : {}),
    ...(extra?.files ? { files: extra.files } : {}),
  };
  const printed = { ...(stdout ? { stdout: storable(stdout) } : {}), ...(stderr ? { stderr: storable(stderr) } : {}) };
  const ended =
    kind === 'denial' ? log('tool_denied', text, { call_id, name }) : log('tool_result', name, { ...facts, ...printed });
  const done = todos?.filter(({ status }) => status === 'done').length;
  const progress = todos ? [log('progress', `${done} of ${todos.length} done`, { todos })] : [];
  return ports.ledger.end(call, {
    content: text,
    failed,
    kind,
    stdout: printed.stdout ?? null,
    stderr: printed.stderr ?? null,
    duration_ms: duration_ms ?? null,
    extra,
    todos,
    events: [...pending_events, ...progress, ended, message('tool', text, { call_id, name })],
  });
}
