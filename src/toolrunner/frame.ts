/** The report of a call's supervisor: made by trusted code from untrusted bytes. */
export interface ChildFrame {
  kind: string;
  /** The JSON text of the result, the JSON string of the error message, or ''. */
  text: string;
  /** The reason why a call was refused, or ''. */
  message: string;
  /** The exit code; negative for a signal. */
  exit: number | null;
  stdout: string;
  stderr: string;
  /** The number of bytes printed; the first 64 KiB are included. */
  stdout_bytes: number;
  stderr_bytes: number;
}

interface Head extends Omit<ChildFrame, 'text' | 'stdout' | 'stderr'> {
  /** The bytes of text, stdout and stderr, which follow in this order. */
  sizes: [number, number, number];
}

const LINE_BREAK = 0x0a;
const HEAD_LIMIT = 16_384;
/** The most bytes that a supervisor sends: a result of 1 MiB and twice 64 KiB of output. */
const BODY_LIMIT = 1_048_576 + 2 * 65_536;

/** Assembles a frame from chunks. */
interface FrameReader {
  /** Returns false if the bytes so far cannot become a frame. */
  add(chunk: Buffer): boolean;
  /** Returns the frame; null until it is complete. */
  frame(): ChildFrame | null;
}

export function createFrameReader(): FrameReader {
  let bytes: Buffer = Buffer.alloc(0);
  let head: Head | null = null;
  let start = 0;
  return {
    add(chunk) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      if (bytes.length > HEAD_LIMIT + BODY_LIMIT) return false;
      if (head) return true;
      const end = bytes.indexOf(LINE_BREAK);
      if (end < 0) return bytes.length <= HEAD_LIMIT;
      head = parseHead(bytes.subarray(0, end).toString());
      start = end + 1;
      return head !== null;
    },
    frame() {
      if (!head || bytes.length < start + sum(head.sizes)) return null;
      const { sizes, ...rest } = head;
      const [text, stdout, stderr] = splitBySizes(bytes.subarray(start), sizes) as [string, string, string];
      return { ...rest, text, stdout, stderr };
    },
  };
}

function parseHead(line: string): Head | null {
  try {
    const head = JSON.parse(line) as Head;
    const numbers = [...head.sizes, head.stdout_bytes, head.stderr_bytes];
    const sound =
      head.sizes.length === 3 && numbers.every((it) => Number.isFinite(it) && it >= 0) && sum(head.sizes) <= BODY_LIMIT;
    return sound && typeof head.kind === 'string' && typeof head.message === 'string' ? head : null;
  } catch {
    return null;
  }
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

function splitBySizes(bytes: Buffer, sizes: readonly number[]): string[] {
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return bytes.subarray(at - size, at).toString();
  });
}
