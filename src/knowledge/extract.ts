import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../domain/errors.ts';

export interface Extracted {
  text: string;
  content_type: string;
}

/** Files by extension; those with a `reader` are taken apart in a thread of their own. */
const KINDS: Record<string, { content_type: string; reader?: 'pdf' | 'docx' | 'html' }> = {
  '.pdf': { content_type: 'application/pdf', reader: 'pdf' },
  '.docx': { content_type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', reader: 'docx' },
  '.html': { content_type: 'text/html', reader: 'html' },
  '.htm': { content_type: 'text/html', reader: 'html' },
  '.md': { content_type: 'text/markdown' },
  '.csv': { content_type: 'text/csv' },
  '.txt': { content_type: 'text/plain' },
  '.json': { content_type: 'application/json' },
};

/** Characters of text that one item may hold. */
export const LONGEST_TEXT = 2_000_000;

const TIME_MS = 30_000;
const HEAP_MB = 512;
/** Outside the heap, where unpacked bytes are kept. */
const EXTERNAL_BYTES = 512 * 1024 * 1024;
const LOOK_MS = 100;

const refusal = (message: string, code = 'unreadable_file') =>
  new AppError('unprocessable', message, { code, errors: [{ path: 'file', message }] });

/** The text of a file. Refuses what it cannot read with a sentence; a file made to exhaust the reader ends only its thread. */
export async function extractText({ filename, content }: { filename: string; content: Uint8Array }): Promise<Extracted> {
  const kind = KINDS[extname(filename).toLowerCase()];
  if (!kind) throw refusal(`${filename || 'The file'} is none of ${Object.keys(KINDS).join(', ')}`, 'unknown_file_type');
  const raw = kind.reader ? await readApart(kind.reader, content) : decoded(content);
  if (kind.content_type === 'application/json') refuseBrokenJson(raw);
  const text = raw.replaceAll('\u0000', '').toWellFormed().trim();
  if (text === '') throw refusal('The file holds no text; a scanned document must be read by OCR first', 'no_text');
  if (text.length > LONGEST_TEXT)
    throw refusal(
      `The file holds ${text.length} characters of text, at most ${LONGEST_TEXT} are taken; cut it up`,
      'too_much_text',
    );
  return { text, content_type: kind.content_type };
}

function decoded(content: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw refusal('The file is not UTF-8 text');
  }
}

function refuseBrokenJson(text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw refusal(`The file is not valid JSON: ${(error as Error).message}`);
  }
}

async function readApart(reader: string, content: Uint8Array): Promise<string> {
  const worker = new Worker(new URL('./extract-worker.ts', import.meta.url), {
    workerData: { reader, content: Uint8Array.from(content) },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const end = (why: string) => reject(refusal(why, 'file_too_costly'));
  worker.once('message', ({ text, error }: { text?: string; error?: string }) =>
    text === undefined ? reject(refusal(error ?? 'The file cannot be read')) : resolve(text),
  );
  worker.once('error', () => end('The file unpacks to more than can be read'));
  worker.once('exit', () => end('The file could not be read to its end'));
  const timer = setTimeout(() => end(`The file could not be read within ${TIME_MS / 1000} s`), TIME_MS);
  const watch = setInterval(
    () => void tooLarge(worker).then((large) => large && end('The file unpacks to more than can be read')),
    LOOK_MS,
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    await worker.terminate();
  }
}

async function tooLarge(worker: Worker): Promise<boolean> {
  try {
    return (await worker.getHeapStatistics()).external_memory > EXTERNAL_BYTES;
  } catch {
    // It has ended.
    return false;
  }
}
