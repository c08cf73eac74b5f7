import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

const exported = files
  .filter(({ name }) => name.startsWith('src/') && !name.startsWith(UNBUILT))
  .flatMap(({ name, text }) => [...text.matchAll(EXPORTED)].map(([, , symbol]) => ({ file: name, symbol: symbol as string })));

it('gives each exported name to one thing, so that it can be searched for', () => {
  const places = Map.groupBy(exported, ({ symbol }) => symbol);
  const twice = [...places].flatMap(([symbol, found]) => {
    const where = [...new Set(found.map(({ file }) => file))];
    return where.length > 1 ? [`${symbol}: ${where.join(', ')}`] : [];
  });
  expect(twice).toEqual([]);
});

it('exports nothing that no other file reads', () => {
  const words = files.map(({ name, text }) => ({ name, words: new Set(text.match(/\w+/g)) }));
  const unread = exported.filter(({ file, symbol }) => !words.some(({ name, words: of }) => name !== file && of.has(symbol)));
  expect(unread.map(({ file, symbol }) => `${file}: ${symbol}`)).toEqual([]);
});
