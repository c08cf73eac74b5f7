/** What the supervisor of one call reports: one JSON line, made by trusted code from untrusted bytes. */
export interface Frame {
  kind: 'returned' | 'raised' | 'invalid' | 'too_large' | 'timed_out' | 'out_of_memory' | 'ended' | 'refused';
  /** JSON text of the result, JSON string of the error message, or ''. */
  text: string;
  /** Exit code, negative for a signal. */
  exit: number | null;
  stdout: string;
  stderr: string;
  stdout_bytes: number;
  stderr_bytes: number;
  duration_ms: number;
}

/** The longest a frame can be: every character of result and output escaped, and some room for the rest. */
export const FRAME_LIMIT = 6 * (1_048_576 + 2 * 65_536) + 4_096;

/** Null when the bytes are not a frame: the supervisor was lost. */
export function parseFrame(line: string): Frame | null {
  try {
    const value = JSON.parse(line) as Frame;
    const sound =
      typeof value.kind === 'string' && [value.text, value.stdout, value.stderr].every((it) => typeof it === 'string');
    return sound ? value : null;
  } catch {
    return null;
  }
}
