import { parentPort, workerData } from 'node:worker_threads';
import { unzipSync, zipSync } from 'fflate';
import { convert } from 'html-to-text';
import mammoth from 'mammoth';
import { extractText, getDocumentProxy } from 'unpdf';

/** Bytes that the parts of a document may have once unpacked. */
const LARGEST_UNPACKED = 100 * 1024 * 1024;

const readers: Record<string, (content: Uint8Array) => Promise<string>> = {
  async pdf(content) {
    const { text } = await extractText(await getDocumentProxy(content), { mergePages: false });
    return text.join('\n\n');
  },
  async docx(content) {
    const { value } = await mammoth.extractRawText({ buffer: Buffer.from(boundedZip(content)) });
    return value;
  },
  async html(content) {
    const html = new TextDecoder('utf-8', { fatal: true }).decode(content);
    const skip = ['img', 'nav', 'script', 'style'].map((selector) => ({ selector, format: 'skip' }));
    const links = { selector: 'a', options: { ignoreHref: true } };
    return convert(html, { wordwrap: false, selectors: [...skip, links], limits: { maxDepth: 200 } });
  },
};

/** The same archive with nothing packed in it: each part takes the space that its entry declares and no more. */
function boundedZip(content: Uint8Array): Uint8Array {
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

const { reader, content } = workerData as { reader: string; content: Uint8Array };
try {
  parentPort?.postMessage({ text: await readers[reader]?.(content) });
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  parentPort?.postMessage({ error: `The ${reader} file cannot be read: ${reason}` });
}
