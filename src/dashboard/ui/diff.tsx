import { type DiffPart, type TextPart, textDifference } from './diff-rows.ts';
import { formatCount } from './figures.ts';
import { ScrollBox } from './scroll-box.tsx';

interface TextDiffProps {
  before: string;
  after: string;
  /** The name of the compared text, for screen readers. */
  label: string;
}

/** Shows the text that was removed and added. Equal lines far from a difference are left out. */
export function TextDiff({ before, after, label }: TextDiffProps) {
  const { by_line, parts } = textDifference(before, after);
  const rows = by_line
    ? withIndex(parts).map(([key, part]) => <Lines key={key} part={part} />)
    : withIndex(parts).map(([key, part]) => <Words key={key} part={part} />);
  return (
    <ScrollBox className="code diff" label={label}>
      {rows}
    </ScrollBox>
  );
}

/** Adds each part's index as its key, which is stable because a difference is computed as a whole. */
const withIndex = <T,>(items: readonly T[]) => items.map((item, index) => [index, item] as const);

const SIGNS = { same: '  ', removed: '− ', added: '+ ' };

function Lines({ part }: { part: DiffPart }) {
  if (part.kind === 'skipped') return <div className="note">… {formatCount(part.lines, 'equal line')} …</div>;
  const { kind } = part;
  return withIndex(part.text.replace(/\n$/, '').split('\n')).map(([key, line]) => (
    <div key={key} className="diff-line" data-kind={kind}>
      {SIGNS[kind]}
      {line}
    </div>
  ));
}

function Words({ part }: { part: TextPart }) {
  if (part.kind === 'removed') return <del>{part.text}</del>;
  return part.kind === 'added' ? <ins>{part.text}</ins> : part.text;
}

/** Formats a value for a comparison: texts unchanged, other values as formatted JSON. */
export const textToCompare = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
