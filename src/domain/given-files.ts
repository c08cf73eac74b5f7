import type { AttachedFile } from './attachments.ts';
import type { EarlierMessage } from './thread.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The files that a person gave to a run with its prompt, and those of the turns before it. */
export interface RunFiles {
  /** Null: none. */
  attachments: readonly AttachedFile[] | null;
  /** The number of the run among the turns; null: it is in no conversation. */
  thread_turn: number | null;
  earlier: readonly Pick<EarlierMessage, 'turn' | 'attachments'>[];
}

/** Returns the files that came with a message of a run's transcript: those of its turn, if it is the prompt that began the turn. */
export function listGivenFiles(
  { turn, kind, step, position }: TranscriptMessage,
  { attachments, thread_turn, earlier }: RunFiles,
): readonly AttachedFile[] {
  // A prompt that a fork adds has another place, and no files.
  const begins_turn = kind === 'prompt' && step === 0 && position === 0;
  if (!begins_turn) return [];
  const is_own = turn === undefined || turn === thread_turn;
  return (is_own ? attachments : earlier.find((given) => given.turn === turn && given.attachments !== null)?.attachments) ?? [];
}
