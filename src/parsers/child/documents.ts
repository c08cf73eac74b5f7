import { unzipSync, zipSync } from 'fflate';
import mammoth from 'mammoth';
import { extractText, getDocumentProxy } from 'unpdf';
import { decodeText } from './charsets.ts';
import { documentText } from './html.ts';

/** The largest size, in bytes, of a document's parts once unpacked. */
const LARGEST_UNPACKED = 100 * 1024 * 1024;

export type Reader = 'pdf' | 'docx' | 'html' | 'json' | 'text';

const readers: Record<Reader, (content: Uint8Array) => Promise<string>> = {
  async pdf(content) {
    // pdf.js does not accept a Buffer.
    const { text } = await extractText(await getDocumentProxy(Uint8Array.from(content)), { mergePages: false });
    return text.join('\n\n');
  },
  async docx(content) {
    const { value } = await mammoth.extractRawText({ buffer: Buffer.from(repackZip(content)) });
    return value;
  },
  html: async (content) => documentText(decodeText(content)),
  async json(content) {
    const text = decodeText(content);
    try {
      JSON.parse(text);
    } catch {
      throw new Error('it is not valid JSON; correct it, or upload it as .txt');
    }
    return text;
  },
  text: async (content) => decodeText(content),
};

export interface DocumentOrder {
  reader: Reader;
  content: Uint8Array;
  /** The most characters of text to return. */
  longest: number;
}

/** Returns the text of a file, or only its length if it is too long. */
export async function readDocument({ reader, content, longest }: DocumentOrder): Promise<{ text: string; length: number }> {
  const raw = await readers[reader](content).catch((error: Error) => Promise.reject(toReadableError(error)));
  const text = raw.replaceAll('\u0000', '').toWellFormed().trim();
  return { text: text.length > longest ? '' : text, length: text.length };
}

const NATIVE = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Replaces errors of the language itself, which describe the reader and not the document. */
const toReadableError = (error: Error): Error =>
  NATIVE.some((kind) => error instanceof kind) ? new Error('it is damaged; save it again and upload it') : error;

/** Returns the same archive uncompressed, so that each part takes at most the space that its entry declares. */
function repackZip(content: Uint8Array): Uint8Array {
  let total = 0;
  const parts = unzipSync(content, {
    filter({ name, originalSize }) {
      if (!/\.(?:xml|rels)$/i.test(name)) return false;
      total += originalSize;
      if (total > LARGEST_UNPACKED) throw new Error('it unpacks to more than can be read');
      return true;
    },
  });
  if (!parts['word/document.xml']) throw new Error('it holds no Word document');
  return zipSync(parts, { level: 0 });
}
