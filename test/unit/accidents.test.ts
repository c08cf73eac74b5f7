import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACCIDENTS } from '../accidents/catalogue.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** The cells of the tables that list accidents: those whose first column is called so. */
function rows(): string[][] {
  const found: string[][] = [];
  let inside = false;
  for (const line of read('docs/durability.md').split('\n')) {
    if (!line.startsWith('|')) inside = false;
    else if (line.startsWith('| accident')) inside = true;
    else if (inside && !line.startsWith('|---'))
      found.push(
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
  }
  return found;
}

describe('the catalogue of accidents', () => {
  it('names each accident once, and has a row for each in docs/durability.md, and a scenario for each row', () => {
    const ids = ACCIDENTS.map(({ id }) => id);
    expect(rows().length).toBeGreaterThan(20);
    expect(
      rows()
        .map((cells) => cells.at(-1)?.replaceAll('`', ''))
        .sort(),
    ).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('says for each accident what happens and what the operator does', () => {
    for (const cells of rows()) expect(cells.filter((cell) => cell.length > 3)).toHaveLength(4);
  });

  it.each(ACCIDENTS.map((accident) => [accident.id, accident] as const))('%s has tests that exist', (_, { tests }) => {
    expect(tests).not.toEqual([]);
    for (const { file, name } of tests) {
      expect(name, 'the name must not contain a placeholder for a parameter').not.toMatch(/%[a-z]|\$/);
      expect(read(file), `${file} has a test named: ${name}`).toContain(name);
    }
  });

  it('has every test file of test/accidents', () => {
    const named = new Set(ACCIDENTS.flatMap(({ tests }) => tests.map(({ file }) => file)));
    expect(globSync('test/accidents/**/*.test.ts', { cwd: ROOT }).filter((file) => !named.has(file))).toEqual([]);
  });
});
