import { type AttachedFile, isTextFile } from './attachments.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The files that a person gave to a turn with its prompt. */
interface GivenFiles {
  /** The number of the turn; absent: it is the only one. */
  turn?: number;
  /** Null: none. */
  attachments: readonly AttachedFile[] | null;
}

/** A run, with the files of the turns before it. */
export interface FilesOfTurns extends GivenFiles {
  /** Absent: there are none. */
  earlier_files?: readonly GivenFiles[];
}

/** Returns the files that came with a message of a run's transcript: those of its turn, if it is the prompt that began the turn. */
export function listGivenFiles(
  { turn, kind, step, position }: TranscriptMessage,
  { earlier_files = [], ...own }: FilesOfTurns,
): readonly AttachedFile[] {
  // A prompt that a fork adds has another place, and no files.
  const begins_turn = kind === 'prompt' && step === 0 && position === 0;
  return (begins_turn && [...earlier_files, own].find((given) => given.turn === turn)?.attachments) || [];
}

/** The most bytes of images and PDF files of earlier turns that a model is shown; the newest of them count. */
const MOST_EARLIER_BYTES = 20 * 1_024 ** 2;

/** The files of a prompt: those that the model is shown, and those that are too many. */
interface PickedFiles {
  shown: AttachedFile[];
  left_out: AttachedFile[];
}

/** Picks the files that a model is shown with each prompt of a run's transcript. Those of the run itself are all shown. */
export function pickGivenFiles(transcript: readonly TranscriptMessage[], run: FilesOfTurns): Map<TranscriptMessage, PickedFiles> {
  const picked = new Map<TranscriptMessage, PickedFiles>();
  let remaining_bytes = MOST_EARLIER_BYTES;
  for (const message of transcript.toReversed()) {
    const shown = listGivenFiles(message, run).filter((file) => {
      if (message.turn === run.turn || isTextFile(file)) return true;
      remaining_bytes -= file.size;
      return remaining_bytes >= 0;
    });
    const left_out = listGivenFiles(message, run).filter((file) => !shown.includes(file));
    if (shown.length + left_out.length > 0) picked.set(message, { shown, left_out });
  }
  return picked;
}
