import { readFileSync } from 'node:fs';
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

  it('plants a fault of a database function in `prisma/functions`, not in the migration that made it', () => {
    expect(mutants.filter(({ file }) => file.startsWith('prisma/migrations/'))).toEqual([]);
  });

  it('names the symbol of each fault in TypeScript and Python', () => {
    expect(mutants.filter(({ file, symbol }) => /\.(?:tsx?|py)$/.test(file) && !symbol)).toEqual([]);
  });

  it.each(mutants.map((mutant) => [mutant.id, mutant] as const))('%s applies to its file and names its tests', (_, mutant) => {
    const source = read(mutant.file);
    const changed = planted(source, mutant);
    expect(
      changed,
      `${mutant.symbol ?? 'the file'} of ${mutant.file} holds this text exactly once: ${mutant.text}`,
    ).not.toBeNull();
    expect(changed).not.toBe(source);
    expect(mutant.tests).not.toEqual([]);
    for (const { file, name } of mutant.tests) {
      expect(name, 'the name must not contain a placeholder for a parameter').not.toMatch(/%[a-z]|\$/);
      expect(read(file), `${file} has a test named: ${name}`).toContain(name);
    }
  });
});

describe('planting a fault', () => {
  const source = `import { when } from './when.ts';

const LIMIT = when(
  1,
);

export async function first(
  order: Order,
): Promise<void> {
  if (order.late) return;
  const sql = \`
SELECT 1\`;
  if (sql) return;
}

/** Here as well: if (order.late) return; */
export const second = (order: Order) => {
  if (order.late) return;
};

class Desk {
  private open = true;

  async close(order: Order) {
    if (
      order.late
    ) return;
  }

  reopen() {
    this.close(now);
    if (order.late) return;
  }
}
`;
  const late = { text: 'if (order.late) return;', replacement: '' };
  const at = (line: number) =>
    source
      .split('\n')
      .map((text, index) => (index === line - 1 ? text.replace(late.text, '') : text))
      .join('\n');

  it('changes a text of the symbol that other symbols hold as well', () => {
    expect(planted(source, { ...late, symbol: 'first' })).toBe(at(10));
    expect(planted(source, { ...late, symbol: 'second' })).toBe(at(18));
  });

  it('finds a method by its class', () => {
    expect(planted(source, { ...late, symbol: 'Desk.reopen' })).toBe(at(32));
  });

  it('takes any blanks and line breaks for those of the text', () => {
    const text = 'if(order.late)return;';
    expect(planted(source, { symbol: 'Desk.close', text, replacement: 'if (late) return;' })).toBe(
      source.replace('if (\n      order.late\n    ) return;', 'if (late) return;'),
    );
    expect(planted(source, { symbol: 'LIMIT', text: 'when(1,)', replacement: '2' })).toBe(source.replace('when(\n  1,\n)', '2'));
  });

  it('searches the whole file if no symbol is named', () => {
    expect(planted(source, { text: "'./when.ts'", replacement: "'./then.ts'" })).toBe(source.replace('when.ts', 'then.ts'));
  });

  it('reads Python', () => {
    expect(
      planted('def apply(limits):\n    a = 1\n\ndef other():\n    a = 1\n', { symbol: 'apply', text: 'a = 1', replacement: 'b' }),
    ).toBe('def apply(limits):\n    b\n\ndef other():\n    a = 1\n');
  });

  it('refuses a text or a symbol that is missing or ambiguous', () => {
    expect(planted(source, late)).toBeNull();
    expect(planted(source, { ...late, symbol: 'Desk' })).toBeNull();
    expect(planted(source, { ...late, symbol: 'third' })).toBeNull();
    expect(planted(source, { ...late, symbol: 'Desk.first' })).toBeNull();
    expect(planted(source, { text: 'order.early', replacement: '', symbol: 'first' })).toBeNull();
    expect(planted(`${source}const LIMIT = 2;\n`, { text: '2', replacement: '3', symbol: 'LIMIT' })).toBeNull();
  });
});
