import { measureFolder } from '../folders/measure.ts';

const WATCH_MS = 500;
/** The pause after a measurement, in multiples of its duration, so that counting a large directory takes little of the time. */
const PAUSE_FACTOR = 10;

interface SizeLimits {
  bytes: number;
  /** Absent: any number. */
  files?: number;
}

/**
 * Measures a directory repeatedly, one measurement at a time. Calls `onExceeded` with the end of a sentence if the directory is
 * too large or cannot be measured.
 */
export function watchSize(directory: string, limits: SizeLimits, onExceeded: (reason: string) => void): AbortController {
  const ended = new AbortController();
  const checkLater = (took_ms: number) => setTimeout(() => void checkSize(), Math.max(WATCH_MS, took_ms * PAUSE_FACTOR)).unref();
  const checkSize = async () => {
    if (ended.signal.aborted) return;
    const started = performance.now();
    // If the service cannot look now, for instance because it has no descriptors left, it looks again later.
    const size = await measureSize(directory, limits).catch(() => null);
    if (size?.fault) onExceeded(size.fault);
    else checkLater(performance.now() - started);
  };
  checkLater(0);
  return ended;
}

/** Returns the bytes of a directory. `fault` is the reason, as the end of a sentence, if it is too large; otherwise null. */
export async function measureSize(
  directory: string,
  { bytes: max_bytes, files: max_files = Number.POSITIVE_INFINITY }: SizeLimits,
): Promise<{ bytes: number; fault: string | null }> {
  const { bytes, files, unmeasured } = await measureFolder(directory, { bytes: max_bytes, files: max_files });
  if (unmeasured) return { bytes, fault: `its size cannot be measured: ${unmeasured}` };
  if (files > max_files) return { bytes, fault: `it holds more than ${max_files} files` };
  return { bytes, fault: bytes > max_bytes ? `it is larger than ${max_bytes} bytes` : null };
}
