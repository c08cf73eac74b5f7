import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../mutants/catalogue.ts';
import { planted } from '../mutants/mutant.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('the catalogue of planted faults', async () => {
  const mutants = await catalogue();

  it('names each fault once', () => {
    const ids = mutants.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it('plants a fault of a function in `prisma/functions`, not in the migration that made it', () => {
    const files = readdirSync(join(ROOT, 'prisma/functions')).filter((name) => name.endsWith('.sql'));
    const functions = files.map((name) => read(`prisma/functions/${name}`));
    const inMigrations = mutants.filter(({ file }) => file.startsWith('prisma/migrations/'));
    expect(inMigrations.filter(({ text }) => functions.some((source) => source.includes(text))).map(({ id }) => id)).toEqual([]);
  });

  it.each(mutants.map((mutant) => [mutant.id, mutant] as const))('%s applies to its file and names its tests', (_, mutant) => {
    const source = read(mutant.file);
    const changed = planted(source, mutant);
    expect(changed, `${mutant.file} holds this text exactly once: ${mutant.text}`).not.toBeNull();
    expect(changed).not.toBe(source);
    expect(mutant.tests).not.toEqual([]);
    for (const { file, name } of mutant.tests) {
      expect(name, 'the name must not contain a placeholder for a parameter').not.toMatch(/%[a-z]|\$/);
      expect(read(file), `${file} has a test named: ${name}`).toContain(name);
    }
  });
});
