import type { AttachedFile } from './attachments.ts';
import type { ResultExtra } from './tool-choice.ts';
import type { TranscriptMessage } from './transcript.ts';

/** A file that a tool returned, and the call that it belongs to. */
interface ResultFile {
  call_id: string;
  file: AttachedFile;
}

/** The kinds of files of results that a model is shown. A model that refuses one is asked with the next: `none` takes any model. */
export const SHOWN_KINDS = ['all', 'images', 'none'] as const;
export type ShownKinds = (typeof SHOWN_KINDS)[number];

/** The models that have refused files of results, with the kinds that they are still shown. */
export type FileTakers = Map<string, ShownKinds>;

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** The types of sounds that models take, with the name that their vendors use. */
export const SOUNDS: Record<string, 'wav' | 'mp3'> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

/** The most files that a model is shown, the newest of the transcript, and the most bytes of each. */
const MOST_SHOWN = 10;
const MOST_BYTES = 5 * 1_024 ** 2;

/** Lists the images and sounds that tools have returned and a model can be shown. */
export function listShownFiles(transcript: readonly TranscriptMessage[], kinds: ShownKinds): ResultFile[] {
  if (kinds === 'none') return [];
  const isShown = ({ media_type, size }: AttachedFile) =>
    size <= MOST_BYTES && (IMAGES.includes(media_type) || (kinds === 'all' && Object.hasOwn(SOUNDS, media_type)));
  return transcript
    .flatMap(({ role, call_id, extra }) => {
      if (role !== 'tool' || !call_id) return [];
      const { files = [] } = (extra ?? {}) as ResultExtra;
      return files.filter(isShown).map((file) => ({ call_id, file }));
    })
    .slice(-MOST_SHOWN);
}
