type Json = Record<string | number, any>;
export type Path = (string | number)[];

/** In place of a value: leaves it out. */
const ABSENT = Symbol('absent');

/** Values that a careless or hostile endpoint may send if its documentation names another type. */
export const ODD_VALUES: readonly (readonly [name: string, value: unknown])[] = [
  ['absent', ABSENT],
  ...[null, true, 0, -1, 1.5, 1e308, '', 'odd', '\u0000', '\uD800', [], {}, [null], [1], { a: 1 }, 'x'.repeat(300)].map(
    (value) => [JSON.stringify(value).slice(0, 20), value] as const,
  ),
];

/** Lists every place within a value, except the value itself. */
export function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    const place = [...path, Array.isArray(value) ? Number(key) : key];
    return [place, ...placesIn(part, place)];
  });
}

/** Returns a copy with another value at that place. Elements that are left out of a list leave no hole. */
export function changedAt<T extends object>(original: T, path: Path, value: unknown): T {
  const copy = structuredClone(original);
  const holder = path.slice(0, -1).reduce((part: Json, key) => part[key], copy as Json);
  const last = path.at(-1)!;
  if (value !== ABSENT) holder[last] = value;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return copy;
}

/** Words with which the language or zod describes code. A sentence for people contains none of them. */
const OF_CODE =
  /Cannot (?:read|set|convert|destructure|access)|is not (?:iterable|a function|a constructor|an object|defined)|undefined|\bNaN\b|\[object |Unexpected (?:token|end)|in JSON|"code":|^\s+at |invalid_type|Error:/m;

/** Returns the part of a sentence that describes code; null: the sentence is for people. */
export const codeIn = (sentence: string): string | null => OF_CODE.exec(sentence)?.[0] ?? null;
