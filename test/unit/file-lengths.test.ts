import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');
const MOST_LINES = 300;

it(`has at most ${MOST_LINES} lines in each file that people write`, () => {
  const written = globSync('**/*.{ts,tsx,mts,mjs,js,css,html,py}', { cwd: SRC, exclude: ['**/generated/**'] });
  expect(written.length).toBeGreaterThan(900);
  const lengths = written.map((file) => ({ file, lines: readFileSync(resolve(SRC, file), 'utf8').trimEnd().split('\n').length }));
  const longer = lengths.filter(({ lines }) => lines > MOST_LINES);
  expect(longer.map(({ file, lines }) => `${file} has ${lines} lines: split it by subject`)).toEqual([]);
});
