import { type AttachedFile, MEDIA_TOKENS } from './attachments.ts';
import type { ResultExtra } from './tool-choice.ts';
import type { TranscriptMessage } from './transcript.ts';

/** A file that a tool returned, and the message of its result. */
interface ResultFile<M> {
  result: M;
  file: AttachedFile;
}

/** The kinds of files of results that a model is shown. A model that refuses one is asked with the next: `none` takes any model. */
export const SHOWN_KINDS = ['all', 'images', 'none'] as const;
export type ShownKinds = (typeof SHOWN_KINDS)[number];

/** The runs whose models have refused files of results, by task, with the kinds that they are still shown; the newest are last. */
export type FileTakers = Map<string, ShownKinds>;

/** The most runs that are remembered. The model of a run that is not is asked with all kinds again. */
const MOST_RUNS = 1_000;

/**
 * Remembers the kinds that the model of a run takes. They hold for this run only: the files are a server's, and a broken one must
 * not keep those of other runs from their model.
 */
export function rememberKinds(takers: FileTakers, task_id: string, kinds: ShownKinds): void {
  takers.delete(task_id);
  takers.set(task_id, kinds);
  const [oldest] = takers.keys();
  if (takers.size > MOST_RUNS && oldest !== undefined) takers.delete(oldest);
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** The types of sounds that models take, with the name that their vendors use. */
export const SOUNDS: Record<string, 'wav' | 'mp3'> = {
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
};

/** The most files that a model is shown, the newest of the transcript, and the most bytes of each. */
const MOST_SHOWN = 10;
const MOST_BYTES = 5 * 1_024 ** 2;

/** The share of a model's window that files of results may take. */
const SHARE = 0.25;

/** What a model can be shown: the kinds that it takes, and its window in tokens. */
export interface ShownLimits {
  kinds: ShownKinds;
  window: number;
}

/** Lists the images and sounds that tools have returned and a model can be shown. */
export function listShownFiles<M extends TranscriptMessage>(
  transcript: readonly M[],
  { kinds, window }: ShownLimits,
): ResultFile<M>[] {
  const most = Math.min(MOST_SHOWN, Math.floor((window * SHARE) / MEDIA_TOKENS));
  if (kinds === 'none' || most === 0) return [];
  const isShown = ({ media_type, size }: AttachedFile) =>
    size <= MOST_BYTES && (IMAGES.includes(media_type) || (kinds === 'all' && Object.hasOwn(SOUNDS, media_type)));
  return transcript
    .flatMap((result) => {
      const { role, call_id, extra } = result;
      if (role !== 'tool' || !call_id) return [];
      const { files = [] } = (extra ?? {}) as ResultExtra;
      return files.filter(isShown).map((file) => ({ result, file }));
    })
    .slice(-most);
}
