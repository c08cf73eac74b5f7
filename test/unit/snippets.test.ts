import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { listSnippets, type Snippet } from '../support/contract/snippets.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = globSync('docs/adding-a*.md', { cwd: ROOT }).sort();
const snippets = PAGES.flatMap((page) => listSnippets(page, readFileSync(join(ROOT, page), 'utf8')));
const isNew = ({ path }: Snippet) => path !== null && !existsSync(join(ROOT, path));

const trimLines = (code: string) => code.split('\n').map((line) => line.trim());

it('every page that says how to add something has snippets that name their file', () => {
  expect(PAGES.length).toBeGreaterThan(2);
  expect(PAGES.filter((page) => !snippets.some((snippet) => snippet.page === page))).toEqual([]);
  expect(snippets.filter(({ path }) => path === null)).toEqual([]);
});

it('quotes files that exist as they are, with `// …` where lines are left out', () => {
  const quoted = snippets.filter((snippet) => !isNew(snippet));
  const wrong = quoted.flatMap(({ page, path, code }) => {
    const file = trimLines(readFileSync(join(ROOT, path as string), 'utf8')).join('\n');
    const parts = code.split(/^ *\/\/ …$/m).map((part) => trimLines(part.trim()).join('\n'));
    return parts.filter((part) => !file.includes(part)).map((part) => `${page}: ${path} does not say\n${part}`);
  });
  expect(wrong).toEqual([]);
});

/** Writes the snippet into the folder of the others, with imports that lead to where its file would find them. */
function place(snippet: Snippet, folder: string, fresh: Snippet[]): void {
  const findPlace = (path: string) => {
    const index = fresh.findIndex((other) => other.page === snippet.page && other.path === path);
    return index < 0 ? relative(folder, join(ROOT, path)) : `./snippet-${index}.ts`;
  };
  const code = snippet.code.replace(
    /(from |import\()'(\.[^']+)'/g,
    (_, before, to) => `${before}'${findPlace(join(dirname(snippet.path as string), to))}'`,
  );
  writeFileSync(join(folder, `snippet-${fresh.indexOf(snippet)}.ts`), code);
}

it('new files of the pages compile', { timeout: 120_000 }, async () => {
  const fresh = snippets.filter(isNew);
  expect(fresh.length).toBeGreaterThan(0);
  // Within the tree, so that packages are found.
  const folder = mkdtempSync(join(ROOT, '.snippets-'));
  try {
    for (const snippet of fresh) place(snippet, folder, fresh);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['*.ts'], exclude: [] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const said = await promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noEmit'], { cwd: ROOT }).then(
      () => '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    );
    const findPage = (_: string, index: string) => `${fresh[Number(index)]?.page}, ${fresh[Number(index)]?.path}`;
    expect(said.replace(/\S*snippet-(\d+)\.ts/g, findPage)).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
