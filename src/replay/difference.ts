import { canonicalJson } from '../domain/canonical-json.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';

/** The first point at which a replayed run differs from the recorded one. */
export interface Difference {
  step: number;
  /** The differing part, as the subject of a sentence. */
  what: string;
  recorded: unknown;
  replayed: unknown;
}

export type Differences = ReturnType<typeof differences>;

/** Keeps only the first difference: later ones follow from it. */
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

/** Returns the name of a message in a report. */
export function nameMessage({ kind, call_id }: Pick<TranscriptMessage, 'kind' | 'call_id'>): string {
  return call_id ? `the result of the call ${call_id} for the model` : `the ${kind}`;
}

/** Returns the fields of a message that must be equal. */
export const comparable = ({ role, kind, content, tool_calls }: TranscriptMessage) => ({ role, kind, content, tool_calls });
