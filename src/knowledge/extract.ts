import { extname } from 'node:path';
import { AppError, overLimit } from '../domain/errors.ts';
import { PATIENCE_MS, ParserFailure } from '../parsers/failure.ts';
import type { JobInput, ParserPool } from '../parsers/pool.ts';

interface Extracted {
  text: string;
  content_type: string;
}

type Reader = JobInput<'document'>['reader'];

/** The supported files, by extension. */
const KINDS: Record<string, { content_type: string; reader: Reader }> = {
  '.pdf': { content_type: 'application/pdf', reader: 'pdf' },
  '.docx': { content_type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', reader: 'docx' },
  '.html': { content_type: 'text/html', reader: 'html' },
  '.htm': { content_type: 'text/html', reader: 'html' },
  '.md': { content_type: 'text/markdown', reader: 'text' },
  '.csv': { content_type: 'text/csv', reader: 'text' },
  '.txt': { content_type: 'text/plain', reader: 'text' },
  '.json': { content_type: 'application/json', reader: 'json' },
};

/** The most characters of text that one item may hold. */
const LONGEST_TEXT = 2_000_000;

interface UploadedFile {
  filename: string;
  content: Uint8Array;
  /** The principal who uploads the file. */
  owner: string;
}

/** Returns the text of a file. Refuses an unreadable file with a sentence. */
export type FileReader = (file: UploadedFile) => Promise<Extracted>;

interface ReadLimits {
  deadline_ms: number;
  /** The longest wait of a file for a parser process. */
  patience_ms: number;
}

export const toReadLimits = ({ READ_SECONDS }: { READ_SECONDS: number }): ReadLimits => ({
  deadline_ms: READ_SECONDS * 1_000,
  patience_ms: PATIENCE_MS,
});

const refusal = (message: string, code = 'unreadable_file') =>
  new AppError('unprocessable', message, { code, errors: [{ path: 'file', message }] });

/** Creates a reader of uploaded files. A file that exhausts the parser ends only the parser's process. */
export const fileReader =
  (pool: Pick<ParserPool, 'run'>, limits: ReadLimits): FileReader =>
  async ({ filename, content, owner }) => {
    const kind = KINDS[extname(filename).toLowerCase()];
    if (!kind) throw refusal(`${filename || 'The file'} is not one of ${Object.keys(KINDS).join(', ')}`, 'unknown_file_type');
    const { reader, content_type } = kind;
    const file_label = `The file ${filename}`;
    const order = { reader, content, longest: LONGEST_TEXT };
    const { text, length } = await pool
      .run('document', order, { owner, ...limits, slow: true, once: true })
      .catch((error) => Promise.reject(toReadFailure(error, file_label)));
    if (length === 0) throw refusal(`${file_label} holds no text; a scanned document must be read by OCR first`, 'no_text');
    if (length > LONGEST_TEXT)
      throw refusal(
        `${file_label} holds ${length} characters of text, at most ${LONGEST_TEXT} are allowed; split it`,
        'too_much_text',
      );
    return { text, content_type };
  };

function toReadFailure(error: unknown, file_label: string): unknown {
  if (!(error instanceof ParserFailure)) return error;
  const { kind, message } = error;
  if (kind === 'refused') return refusal(`${file_label} cannot be read: ${message}`);
  if (kind === 'timeout') return refusal(`${file_label} cannot be read: ${message}`, 'file_too_costly');
  if (kind === 'memory') return refusal(`${file_label} unpacks to more than can be read`, 'file_too_costly');
  if (kind === 'busy') return overLimit(`${file_label} was not read: ${message}`, { code: 'parsers_busy' });
  return new AppError('unavailable', 'The service is stopping; try again shortly');
}
