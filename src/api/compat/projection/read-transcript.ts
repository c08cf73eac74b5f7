import type { Attachment } from '../../../contracts/attachments.ts';
import type { ToolCallRecord } from '../../../contracts/tasks.ts';
import { isRecord } from '../../../domain/records.ts';
import { DENIAL, NOT_CALLED, parseDenial, type SteerExtra, type TranscriptMessage } from '../../../domain/transcript.ts';
import type { RunPart } from './parts.ts';

/** What the ledger has of a call. */
export type RecordedCall = Pick<ToolCallRecord, 'call_id' | 'name' | 'approval' | 'status' | 'failed' | 'duration_ms'>;

interface RecordedTurn {
  /** The messages of the run itself, in the order of their steps and positions. */
  messages: readonly TranscriptMessage[];
  calls: readonly RecordedCall[];
  client_tools: readonly string[];
}

/** Converts the transcript of a turn into the parts that its events have made. */
export function readTranscript({ messages, calls, client_tools }: RecordedTurn): RunPart[] {
  const call_by_id = new Map(calls.map((call) => [call.call_id, call]));
  let step = 0;

  function readReply({ content, tool_calls, extra, ...message }: TranscriptMessage): RunPart[] {
    step = message.step;
    const reasoning = isRecord(extra) && typeof extra.reasoning === 'string' ? extra.reasoning : '';
    return [
      { kind: 'step', step },
      ...(reasoning ? [{ kind: 'reasoning' as const, step, text: reasoning }] : []),
      ...(content
        ? ([
            { kind: 'text', step, delta: content },
            { kind: 'text_end', step },
          ] as const)
        : []),
      ...(tool_calls ?? []).flatMap((call): RunPart[] => {
        const executor = client_tools.includes(call.name) ? 'client' : 'worker';
        return [{ kind: 'call', step, call: { ...call, executor } }, ...listApprovals(call.call_id)];
      }),
    ];
  }

  /** True if a person is asked before the call runs. A call that the client executes waits for its result only. */
  const needsApproval = (call: RecordedCall | undefined): call is RecordedCall =>
    call?.approval === true && !client_tools.includes(call.name);

  function listApprovals(call_id: string): RunPart[] {
    const call = call_by_id.get(call_id);
    if (!needsApproval(call)) return [];
    const requested: RunPart = { kind: 'approval_requested', call_id };
    if (call.status === 'waiting_approval') return [requested];
    const was_made = call.status !== 'planned' && call.status !== 'denied';
    return was_made ? [requested, { kind: 'approval_decided', call_id, approved: true }] : [];
  }

  function readDenial(call_id: string, content: string): RunPart[] {
    if (content === DENIAL) return [{ kind: 'denied', call_id, content, by_person: false }];
    if (!needsApproval(call_by_id.get(call_id))) return [toResult(call_id, content, [])];
    const message = content === NOT_CALLED ? content : parseDenial(content);
    return [
      { kind: 'approval_requested', call_id },
      { kind: 'approval_decided', call_id, approved: false, message },
      { kind: 'denied', call_id, content, by_person: true },
    ];
  }

  function toResult(call_id: string, content: string, files: readonly Attachment[]): RunPart {
    const { failed, duration_ms } = call_by_id.get(call_id) ?? {};
    const result = { call_id, content, failed: failed === true, files, duration_ms: duration_ms ?? undefined };
    return { kind: 'result', result };
  }

  return messages.flatMap((message): RunPart[] => {
    const { role, kind, call_id, content, extra } = message;
    if (REPLIES.includes(kind)) return readReply(message);
    if (kind === 'denial') return readDenial(call_id!, content);
    if (role === 'tool')
      return [toResult(call_id!, content, isRecord(extra) && Array.isArray(extra.files) ? (extra.files as Attachment[]) : [])];
    return kind === 'steer' ? [{ kind: 'steer', id: (extra as SteerExtra).message_id, text: content }] : [];
  });
}

/** What the model wrote, or what a guardrail put in its place. */
const REPLIES = ['reply', 'partial', 'withheld'];
