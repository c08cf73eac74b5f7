export interface SearchTerm {
  text: string;
  is_excluded: boolean;
}

const TERM = /(-?)(?:"([^"]*)"?|([^\s"]+))/g;

/**
 * Reads what a person searches for: `parts of words`, `"a phrase"`, `-without`, `this or that`. Returns the alternatives, each with
 * the terms that a text has or lacks; none if nothing is asked.
 */
export function parseSearch(query: string): SearchTerm[][] {
  const alternatives: SearchTerm[][] = [[]];
  for (const [, sign, phrase, word] of query.matchAll(TERM)) {
    const text = (phrase ?? word!).trim();
    if (phrase === undefined && sign === '' && /^or$/i.test(text)) alternatives.push([]);
    else if (text !== '') alternatives.at(-1)!.push({ text, is_excluded: sign === '-' });
  }
  return alternatives.filter((terms) => terms.length > 0);
}
