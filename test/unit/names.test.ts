import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const READERS = ['src', 'test', 'bench', 'bin', 'examples'];
const EXPORTED = /^export (?:async )?(?:abstract )?(function\*?|const|class|interface|type|enum) (\w+)/gm;

/** Twice on purpose: the page without a build step cannot import. */
const UNBUILT = 'src/dashboard-legacy/';

const files = READERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
)
  .filter((name) => /\.(tsx?|m?js)$/.test(name) && !/\/(generated|node_modules)\//.test(name))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));

const kindOf = (keyword: string) => (/interface|type/.test(keyword) ? 'type' : keyword === 'class' ? 'class' : 'value');

const exported = files
  .filter(({ name }) => name.startsWith('src/') && !name.startsWith(UNBUILT))
  .flatMap(({ name, text }) =>
    [...text.matchAll(EXPORTED)].map(([, keyword, symbol]) => ({
      file: name,
      symbol: symbol as string,
      kind: kindOf(keyword as string),
    })),
  );

it('gives no exported name two meanings', () => {
  const twice = [...Map.groupBy(exported, ({ symbol }) => symbol)].flatMap(([symbol, found]) => {
    const inOneRoom = new Set(found.map(({ file }) => dirname(file))).size < new Set(found.map(({ file }) => file)).size;
    // A contract's schema and its type share a name, in one file.
    const kinds = found.filter(({ file }) => found.some((other) => other.file !== file)).map(({ kind }) => kind);
    return inOneRoom || new Set(kinds).size > 1 ? [`${symbol}: ${found.map(({ file }) => file).join(', ')}`] : [];
  });
  expect(twice).toEqual([]);
});

it('exports nothing that no other file reads', () => {
  const words = files.map(({ name, text }) => ({ name, words: new Set(text.match(/\w+/g)) }));
  const unread = exported.filter(({ file, symbol }) => !words.some(({ name, words: of }) => name !== file && of.has(symbol)));
  expect(unread.map(({ file, symbol }) => `${file}: ${symbol}`)).toEqual([]);
});

const FUNCTION = /^\s*(?:export )?(?:(?:async )?function\*? ([a-z]\w*)|const ([a-z]\w*) = (?:async )?(?:<.*>)?\(.*(?:=>|\($))/gm;
const PREPOSITION = /[a-z](?:Of|In|For|At|To|From|By|With)$/;
/** Participles; the exceptions are verbs that look like one. */
const PARTICIPLE =
  /^(?!need|feed|seed|embed|listen|open|shorten|flatten|widen|happen|tokenize)(?:[a-z]+ed|[a-z]{2,}en|known|shown|found|kept|made|said|sent|begun|held|built|left|met|drawn|spent|gone|done|heard)(?=[A-Z]|$)/;

/** A newcomer reads a call as a sentence: `retryWhileDown(work)`, not `written(work)`; `getOwner(row)`, not `ownerOf(row)`. */
it.each([
  ['by verbs, not by participles', PARTICIPLE],
  ['without a preposition at the end', PREPOSITION],
])('names functions %s', (_, pattern) => {
  const functions = files
    .filter(({ name }) => name.startsWith('src/') && !name.startsWith(UNBUILT))
    .flatMap(({ name, text }) =>
      [...text.matchAll(FUNCTION)].map(([, one, other]) => ({ name, symbol: (one ?? other) as string })),
    );
  const wrong = functions.filter(({ symbol }) => pattern.test(symbol));
  expect(functions.length).toBeGreaterThan(2_000);
  const listed = wrong.map(({ name, symbol }) => `${name}: ${symbol}`);
  expect(wrong.length, listed.join('\n')).toBeLessThan(functions.length * 0.03);
});
