/** The largest chunk in characters: small enough to quote, large enough to mean something. */
const LARGEST = 1_200;
/** The number of characters repeated at the start of the next chunk, so that a sentence cut in two is found. */
const OVERLAP = 150;

/** Cuts a text at the best place near the end of each chunk: between paragraphs, otherwise lines, sentences or words. */
export function splitIntoChunks(text: string): string[] {
  const chunks: string[] = [];
  const clean = text.replaceAll('\r\n', '\n').trim();
  let start = 0;
  while (start < clean.length) {
    const end = clean.length - start <= LARGEST ? clean.length : start + findCut(clean.slice(start, start + LARGEST));
    const chunk = clean.slice(start, end).trim();
    if (chunk) chunks.push(chunk);
    if (end === clean.length) break;
    // The start always advances, because a cut is at more than half of a chunk.
    start = startOfWord(clean, end - OVERLAP);
  }
  return chunks;
}

const BREAKS = ['\n\n', '\n', '. ', ' '];

function findCut(window: string): number {
  for (const mark of BREAKS) {
    const at = window.lastIndexOf(mark);
    if (at > LARGEST / 2) return at + mark.length;
  }
  // A cut never separates the halves of a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
}

function startOfWord(text: string, from: number): number {
  const space = text.indexOf(' ', from);
  const start = space !== -1 && space < from + OVERLAP ? space + 1 : from;
  return /[\uDC00-\uDFFF]/.test(text.charAt(start)) ? start + 1 : start;
}
