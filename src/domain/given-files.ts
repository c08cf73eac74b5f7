import { type AttachedFile, isTextFile } from './attachments.ts';
import type { EarlierMessage } from './thread.ts';
import type { SteerExtra, TranscriptMessage } from './transcript.ts';

/** The files that a person gave to a run with its prompt, and those of the turns before it. */
export interface FilesOfTurns {
  /** Null: none. */
  attachments: readonly AttachedFile[] | null;
  /** The number of the run among the turns; null: it is in no conversation. */
  thread_turn: number | null;
  earlier: readonly Pick<EarlierMessage, 'turn' | 'attachments'>[];
}

/** True if a message belongs to the run itself. */
const isOwn = ({ turn }: TranscriptMessage, { thread_turn }: Pick<FilesOfTurns, 'thread_turn'>) =>
  turn === undefined || turn === thread_turn;

/** Returns the files that came with a message of a run's transcript. Those of a turn came with the prompt that began it. */
export function listGivenFiles(message: TranscriptMessage, run: FilesOfTurns): readonly AttachedFile[] {
  const { turn, kind, step, position, extra } = message;
  if (kind === 'steer') return (extra as SteerExtra | null)?.attachments ?? [];
  // A prompt that a fork adds has another place, and no files.
  if (kind !== 'prompt' || step !== 0 || position !== 0) return [];
  if (isOwn(message, run)) return run.attachments ?? [];
  return run.earlier.find((given) => given.turn === turn && given.attachments !== null)?.attachments ?? [];
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
      if (isOwn(message, run) || isTextFile(file)) return true;
      remaining_bytes -= file.size;
      return remaining_bytes >= 0;
    });
    const left_out = listGivenFiles(message, run).filter((file) => !shown.includes(file));
    if (shown.length + left_out.length > 0) picked.set(message, { shown, left_out });
  }
  return picked;
}
