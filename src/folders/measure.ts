import { type EntryName, unlessExchanged } from './folder.ts';
import { walkFolder } from './walk.ts';

interface FolderSize {
  /** The space used on the disk. */
  bytes: number;
  files: number;
  /** The first entry that could not be measured, as the beginning of a sentence; null if everything was. */
  unmeasured: string | null;
}

const BLOCK = 512;
const SHOWN_CHARACTERS = 200;
/** The owner's rights that counting needs. */
const TO_READ = 0o500;

/**
 * Counts the files, directories and bytes in a folder that a tool may be changing; zero if there is no folder. Stops at the
 * first exceeded limit.
 */
export async function measureFolder(path: string, limits: { bytes: number; files: number }): Promise<FolderSize> {
  const size: FolderSize = { bytes: 0, files: 0, unmeasured: null };
  await walkFolder(path, {
    rights: TO_READ,
    see({ stats }) {
      size.files += 1;
      size.bytes += Number(stats.blocks) * BLOCK;
      return size.bytes <= limits.bytes && size.files <= limits.files;
    },
    miss(place, reason) {
      size.unmeasured = `${formatPlace(place)} ${reason}`;
      return false;
    },
  }).catch(unlessExchanged);
  return size;
}

function formatPlace(place: EntryName): string {
  const text = Buffer.from(place, 'latin1').toString();
  return text === '' ? 'its folder' : text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
