import { measureFolder } from '../folders/measure.ts';

const WATCH_MS = 500;

/** Measures a directory repeatedly, one measurement at a time. What cannot be measured counts as exceeded. */
export function watchSize(directory: string, max_bytes: number, exceeded: () => void): AbortController {
  const ended = new AbortController();
  const again = () => setTimeout(() => void look(), WATCH_MS).unref();
  const look = async () => {
    if (ended.signal.aborted) return;
    // If the service cannot look now, for instance because it has no descriptors left, it looks again.
    const size = await measureFolder(directory, { bytes: max_bytes, files: Infinity }).catch(() => null);
    if (size && (size.unmeasured || size.bytes > max_bytes)) exceeded();
    else again();
  };
  again();
  return ended;
}
