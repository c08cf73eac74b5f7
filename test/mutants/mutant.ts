/** A fault planted on purpose: an expression changed as a tired colleague might change it. */
export interface Mutant {
  /** The theme, which is the name of the file that holds it, then the fault's own name. */
  id: `${string}/${string}`;
  /** The file it is planted in, from the root of the repository. */
  file: string;
  /** The function, constant, class or method that holds the fault; `a.b` is declared within `a`. Without one, the whole file. */
  symbol?: string;
  /** What is replaced; it occurs once in the symbol. Blanks and line breaks do not count. */
  text: string;
  replacement: string;
  /** What a user suffers, in one sentence. */
  harm: string;
  tests: MutantTest[];
}

/** A test that must fail while the fault is there. */
export interface MutantTest {
  file: string;
  /** Part of the test's name, as it stands in the file. */
  name: string;
}

interface Extent {
  start: number;
  end: number;
}

/** The source with the fault, or null if its symbol or its text is not there exactly once. */
export function planted(source: string, { symbol, text, replacement }: Pick<Mutant, 'symbol' | 'text' | 'replacement'>) {
  let extent: Extent | null = { start: 0, end: source.length };
  for (const name of symbol?.split('.') ?? []) extent = extent && findSymbol(source, name, extent);
  if (!extent) return null;
  const [found, ...more] = source.slice(extent.start, extent.end).matchAll(toPattern(text));
  if (!found || more.length > 0) return null;
  const at = extent.start + found.index;
  return source.slice(0, at) + replacement + source.slice(at + found[0].length);
}

/** The outermost declaration of a name: its first line, what is indented below it, and the brackets that close it. */
function findSymbol(source: string, name: string, { start, end }: Extent): Extent | null {
  const heads = [...source.slice(start, end).matchAll(toDeclaration(name))];
  const depth = Math.min(...heads.map(([, indent]) => (indent as string).length));
  const [head, ...more] = heads.filter(([, indent]) => indent?.length === depth);
  if (!head || more.length > 0) return null;
  const from = start + head.index;
  const after = from + head[0].length;
  const length = source.slice(after, end).search(new RegExp(`\\n {0,${depth}}[^\\s)\\]}\`]`));
  return { start: from, end: length < 0 ? end : after + length };
}

/** A line that declares a name, in TypeScript or Python. A method has no keyword, but a body. */
const toDeclaration = (name: string) =>
  new RegExp(
    `^( *)(?:(?:export|default|async|static|private|get|set) )*(?:(?:function\\*?|const|let|class|def) ${name}\\b|${name}\\(.*\\{$)`,
    'gm',
  );

const toPattern = (text: string) => new RegExp([...text.replaceAll(/\s+/g, '')].map(escapeRegex).join('\\s*'), 'g');

const escapeRegex = (character: string) => character.replace(/[.*+?^${}()|[\]\\]/, '\\$&');
