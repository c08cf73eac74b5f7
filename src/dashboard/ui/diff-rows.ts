import { diffLines, diffWordsWithSpace } from 'diff';

/** A part of a difference: text that both have, that only the first or only the second has, or lines left out. */
export type DiffPart = { kind: 'same' | 'removed' | 'added'; text: string } | { kind: 'skipped'; lines: number };

/** `by_line`: the parts are whole lines. */
type TextDifference = { by_line: true; parts: DiffPart[] } | { by_line: false; parts: TextPart[] };

/** The number of lines shown around a difference. */
const CONTEXT = 3;
/**
 * The most differences between two texts that are shown as one. Texts that differ more are shown one after the other: their
 * common lines would mean nothing, and take long to find.
 */
const MOST_EDITS = 1_000;

/** Compares texts of one line by words, and longer ones, or those without a common word, by lines. */
export function textDifference(before: string, after: string): TextDifference {
  const by_line = /\n/.test(before.trimEnd()) || /\n/.test(after.trimEnd());
  const options = { maxEditLength: MOST_EDITS };
  const changes = by_line ? diffLines(before, after, options) : diffWordsWithSpace(before, after, options);
  if (!changes) return { by_line: true, parts: [...whole('removed', before), ...whole('added', after)] };
  const parts = changes.map(({ value, added, removed }) => ({
    kind: added ? ('added' as const) : removed ? ('removed' as const) : ('same' as const),
    text: value,
  }));
  if (parts.every(({ kind }) => kind !== 'same')) return { by_line: true, parts };
  if (!by_line) return { by_line, parts };
  return { by_line, parts: parts.flatMap((part, at) => collapseEqualLines(part, at === 0, at === parts.length - 1)) };
}

const whole = (kind: 'removed' | 'added', text: string): DiffPart[] => (text ? [{ kind, text }] : []);

export type TextPart = Extract<DiffPart, { text: string }>;

/** Leaves out the middle of many equal lines. At either end of the text, only the lines next to a difference stay. */
function collapseEqualLines(part: TextPart, first: boolean, last: boolean): DiffPart[] {
  if (part.kind !== 'same') return [part];
  const lines = part.text.replace(/\n$/, '').split('\n');
  const [head, tail] = [first ? 0 : CONTEXT, last ? 0 : CONTEXT];
  const skipped = lines.length - head - tail;
  if (skipped <= 1) return [part];
  const toSamePart = (some: string[]): DiffPart[] => (some.length > 0 ? [{ kind: 'same', text: `${some.join('\n')}\n` }] : []);
  return [
    ...toSamePart(lines.slice(0, head)),
    { kind: 'skipped', lines: skipped },
    ...toSamePart(lines.slice(lines.length - tail)),
  ];
}
