import { measureFolder } from '../folders/measure.ts';

const WATCH_MS = 500;

/**
 * Measures a directory repeatedly, one measurement at a time. Calls `onExceeded` with the end of a sentence if the directory is
 * too large or cannot be measured.
 */
export function watchSize(directory: string, max_bytes: number, onExceeded: (reason: string) => void): AbortController {
  const ended = new AbortController();
  const again = () => setTimeout(() => void checkSize(), WATCH_MS).unref();
  const checkSize = async () => {
    if (ended.signal.aborted) return;
    // If the service cannot look now, for instance because it has no descriptors left, it looks again later.
    const size = await measureSize(directory, max_bytes).catch(() => null);
    if (size?.fault) onExceeded(size.fault);
    else again();
  };
  again();
  return ended;
}

/** Returns the bytes of a directory. `fault` is the reason, as the end of a sentence, if they are too many; otherwise null. */
export async function measureSize(directory: string, max_bytes: number): Promise<{ bytes: number; fault: string | null }> {
  const { bytes, unmeasured } = await measureFolder(directory, { bytes: max_bytes, files: Number.POSITIVE_INFINITY });
  if (unmeasured) return { bytes, fault: `its size cannot be measured: ${unmeasured}` };
  return { bytes, fault: bytes > max_bytes ? `it is larger than ${max_bytes} bytes` : null };
}
