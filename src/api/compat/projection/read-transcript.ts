import type { Attachment } from '../../../contracts/attachments.ts';
import { isRecord } from '../../../domain/records.ts';
import type { TranscriptMessage } from '../../../domain/transcript.ts';
import type { Ask, RunPart } from './parts.ts';

/** What the ledger has of a call. */
export interface RecordedCall {
  call_id: string;
  failed: boolean;
  duration_ms?: number | undefined;
  /** The decision of a person whether it may be made; null: nobody has decided. */
  approved: boolean | null;
  /** What the person wrote. */
  message?: string | undefined;
  /** What the run waits for before the call goes on; null: nothing. */
  waits_for: Ask | null;
}

export interface RecordedTurn {
  /** The messages of the run itself, in the order of their steps and positions. */
  messages: readonly TranscriptMessage[];
  calls: readonly RecordedCall[];
  client_tools: readonly string[];
}

/** Converts the transcript of a turn into the parts that its events have made. */
export function readTranscript({ messages, calls, client_tools }: RecordedTurn): RunPart[] {
  const call_by_id = new Map(calls.map((call) => [call.call_id, call]));
  let step = 0;
  let steers = 0;

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
        return [{ kind: 'call', step, call: { ...call, executor } }, ...listDecisions(call_by_id.get(call.call_id))];
      }),
    ];
  }

  function readResult({ call_id, content, extra }: TranscriptMessage): RunPart[] {
    const { failed = false, duration_ms } = call_by_id.get(call_id!) ?? {};
    const files = isRecord(extra) && Array.isArray(extra.files) ? (extra.files as Attachment[]) : [];
    return [{ kind: 'result', result: { call_id: call_id!, content, failed, files, duration_ms } }];
  }

  return messages.flatMap((message): RunPart[] => {
    const { role, kind, call_id, content } = message;
    if (role === 'assistant') return readReply(message);
    if (kind === 'denial')
      return [{ kind: 'denied', call_id: call_id!, content, by_person: call_by_id.get(call_id!)?.approved === false }];
    if (role === 'tool') return readResult(message);
    if (!isSteer(kind)) return [];
    steers += 1;
    return [{ kind: 'steer', id: `steer-${steers}`, text: content }];
  });
}

function listDecisions(call: RecordedCall | undefined): RunPart[] {
  if (!call) return [];
  const { call_id, approved, message, waits_for } = call;
  const requested: RunPart = { kind: 'approval_requested', call_id };
  if (waits_for === 'approval') return [requested];
  return approved === null ? [] : [requested, { kind: 'approval_decided', call_id, approved, message }];
}

/** True for a message that a person sent to the run while it worked. */
const isSteer = (kind: string) => kind === 'steer';
