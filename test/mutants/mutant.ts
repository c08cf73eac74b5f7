/** A fault planted on purpose: one line changed as a tired colleague might change it. */
export interface Mutant {
  /** The area, which is the name of the file that holds it, then the fault's own name. */
  id: `${string}/${string}`;
  /** The file it is planted in, from the root of the repository. */
  file: string;
  /** What is replaced; it occurs once in the file. */
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

export const planted = (source: string, { text, replacement }: Pick<Mutant, 'text' | 'replacement'>): string | null => {
  const [before, after, ...more] = source.split(text);
  return before === undefined || after === undefined || more.length > 0 ? null : before + replacement + after;
};
