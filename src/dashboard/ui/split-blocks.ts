import { fromMarkdown } from 'mdast-util-from-markdown';

/** A definition of a link or a footnote, to which any other block may refer. */
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;

export interface TextBlock {
  /** The number of letters before it. */
  start: number;
  text: string;
}

/**
 * Returns a function that splits a text into the blocks of its Markdown. While the text grows at its end, the blocks before the last one stay
 * as they are, so that a long answer is not read again with each of its words. A text that has not grown yet is one block, as is one
 * whose blocks refer to each other.
 */
export function createSplitter(): (text: string) => TextBlock[] {
  let before: string | null = null;
  let starts: number[] = [];
  return (text) => {
    const has_grown = before !== null && before !== '' && text !== before && text.startsWith(before);
    if (text !== before && !has_grown) starts = [];
    if (has_grown) {
      const from = starts.at(-1) ?? 0;
      const found = fromMarkdown(text.slice(from)).children.map(({ position }) => from + position!.start.offset!);
      starts = [...starts.slice(0, -1), from, ...found.slice(1)];
    }
    before = text;
    if (starts.length === 0 || DEFINITION.test(text)) return [{ start: 0, text }];
    return starts.map((start, index) => ({ start, text: text.slice(start, starts[index + 1]) }));
  };
}
