import type { AttachedFile } from './attachments.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The files that a person gave to a turn with its prompt. */
interface GivenFiles {
  /** The number of the turn; absent: it is the only one. */
  turn?: number;
  /** Null: none. */
  attachments: readonly AttachedFile[] | null;
}

/** A run, with the files of the turns before it. */
export interface RunFiles extends GivenFiles {
  /** Absent: there are none. */
  earlier_files?: readonly GivenFiles[];
}

/** Returns the files that came with a message of a run's transcript: those of its turn, if it is the prompt that began the turn. */
export function listGivenFiles(
  { turn, kind, step, position }: TranscriptMessage,
  { earlier_files = [], ...own }: RunFiles,
): readonly AttachedFile[] {
  // A prompt that a fork adds has another place, and no files.
  const begins_turn = kind === 'prompt' && step === 0 && position === 0;
  return (begins_turn && [...earlier_files, own].find((given) => given.turn === turn)?.attachments) || [];
}
