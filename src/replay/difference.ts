import { canonicalJson } from '../domain/canonical-json.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';

/** Where a replayed run first did otherwise than the recorded one. */
export interface Difference {
  step: number;
  /** What differs, as a sentence's subject. */
  what: string;
  recorded: unknown;
  replayed: unknown;
}

export type Differences = ReturnType<typeof differences>;

/** Keeps the first difference: what follows from it is of no interest. */
export function differences() {
  let first: Difference | null = null;
  function note(step: number, what: string, { recorded, replayed }: { recorded: unknown; replayed: unknown }): void {
    if (first && first.step <= step) return;
    first = { step, what, recorded, replayed };
  }
  return {
    first: () => first,
    note,
    compare(step: number, what: string, both: { recorded: unknown; replayed: unknown }): void {
      if (canonicalJson(both.recorded) !== canonicalJson(both.replayed)) note(step, what, both);
    },
  };
}

/** What a message is called in a report. */
export function named({ kind, call_id }: Pick<TranscriptMessage, 'kind' | 'call_id'>): string {
  return call_id ? `what the model is told of the call ${call_id}` : `the ${kind}`;
}

/** What must be the same of a message. */
export const comparable = ({ role, kind, content, tool_calls }: TranscriptMessage) => ({ role, kind, content, tool_calls });
