import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { formatCliPage } from '../../bin/cli-page.ts';
import { formatEventsPage } from '../../bin/events-page.ts';
import { listSnippets } from '../support/contract/snippets.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/*.md', 'test/*.md'], { cwd: ROOT });
const textOf = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** What a page says is nowhere in the code. */
const PLATFORM = ['innerHTML', 'dangerouslySetInnerHTML'];

/** A path from the root of the repository. */
const NAMED = /(?<![\w/.<-])(?:src|test|docs|bench|bin|prisma|\.textlint)\/[\w./*<>-]*\w/g;

/** The paths that a page names, or the comments of a source file. */
function pathsIn(file: string): string[] {
  const lines = textOf(file).split('\n');
  const prose = file.endsWith('.md') ? lines : lines.filter((line) => /^\s*(?:\/\/|\/\*|\*|#)/.test(line));
  return prose.flatMap((line) => line.match(NAMED) ?? []);
}

/** The anchors that a page offers, spelled as GitHub spells them. */
const anchorsOf = (page: string) =>
  new Set(
    [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

/** Links within the repository: where each leads, relative to the root. */
const linksOf = (page: string) =>
  [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([link, path = '', anchor]) => ({
    link: `${page}: ${link.slice(1)}`,
    target: path ? relative(ROOT, resolve(ROOT, dirname(page), path)) : page,
    anchor,
  }));

it('describes the events of a run as they are; after a change of the map, run `npm run event-docs`', () => {
  expect(textOf('docs/events.md') === formatEventsPage()).toBe(true);
});

it('describes the commands as they are; after a change of their list, run `npm run cli-docs`', () => {
  expect(textOf('docs/cli.md') === formatCliPage()).toBe(true);
});

it('links to pages and headings that exist', () => {
  const links = PAGES.flatMap(linksOf);
  expect(links.length).toBeGreaterThan(60);
  const broken = links.filter(
    ({ target, anchor }) => !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).has(anchor)),
  );
  expect(broken.map(({ link }) => link)).toEqual([]);
});

it('names files and folders that exist, in pages and in comments of the code', () => {
  const code = globSync(['prisma/schema.prisma', '{src,test,bench,bin,examples}/**/*.{ts,tsx,mjs,py}'], { cwd: ROOT });
  const named = [...PAGES, ...code.filter((file) => !file.startsWith('src/generated'))].flatMap((file) =>
    pathsIn(file)
      .filter((path) => !/[*<]/.test(path))
      .map((path) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(200);
  // Files that the reader of a page is to write: unit/snippets.test.ts compiles them.
  const examples = new Set(PAGES.flatMap((page) => listSnippets(page, textOf(page)).map(({ path }) => path)));
  const missing = named.filter(({ path }) => !existsSync(join(ROOT, path)) && !examples.has(path));
  expect(missing.map(({ file, path }) => `${file}: ${path}`)).toEqual([]);
});

it('uses names of the code that occur in it', () => {
  const files = globSync(['{src,test,bin}/**/*.{ts,tsx,mjs,js,py}', 'deploy/**/*.{yml,yaml}', 'package.json'], { cwd: ROOT });
  const code = files.map(textOf).join('\n');
  const named = PAGES.filter((page) => page !== 'CHANGELOG.md').flatMap((page) =>
    [...textOf(page).matchAll(/`([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)[`(<]/g)].map(([, name = '']) => ({ page, name })),
  );
  expect(named.length).toBeGreaterThan(30);
  const unknown = named.filter(({ name }) => !code.includes(name) && !PLATFORM.includes(name));
  expect(unknown.map(({ page, name }) => `${page}: ${name}`)).toEqual([]);
});

/** Every operation of the contracts, with its parameters unnamed: `GET /api/tasks/{}`. */
async function operations(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const file of globSync('src/contracts/*.ts', { cwd: ROOT })) {
    const exported = Object.values(await import(join(ROOT, file)));
    const candidates = exported.flatMap((value) => (value && typeof value === 'object' ? [value, ...Object.values(value)] : []));
    for (const it of candidates as { method?: unknown; path?: unknown }[])
      if (typeof it?.method === 'string' && typeof it.path === 'string') found.add(unnamed(`${it.method} ${it.path}`));
  }
  return found;
}

const unnamed = (operation: string) => operation.replace(/\?.*$/, '').replace(/\{\w+\}|\$\w+/g, '{}');

it('names operations that exist', async () => {
  const all = [...(await operations())];
  expect(all.length).toBeGreaterThan(100);
  const spoken = PAGES.flatMap((page) =>
    [...textOf(page).matchAll(/\b((?:GET|POST|PUT|PATCH|DELETE) )(…)?(\/[\w/{}.-]+)/g)].map(
      ([text, method = '', cut, path = '']) => ({
        text: `${page}: ${text}`,
        known: all.some((one) => (cut ? one.startsWith(method) && one.endsWith(unnamed(path)) : one === unnamed(method + path))),
      }),
    ),
  );
  const called = PAGES.flatMap((page) =>
    [...textOf(page).matchAll(/\$(?:URL|PERDURA)(\/(?:api|v1|health)\/[\w/$-]+)/g)].map(([text, path = '']) => ({
      text: `${page}: ${text}`,
      known: all.some((one) => one.endsWith(` ${unnamed(path)}`)),
    })),
  );
  expect(spoken.length).toBeGreaterThan(30);
  expect(called.length).toBeGreaterThan(10);
  const unknown = [...spoken, ...called].filter(({ known }) => !known).map(({ text }) => text);
  expect(unknown.filter((text) => !text.includes('/api/things'))).toEqual([]);
});

it('is reachable from the README, page by page', () => {
  const reached = new Set(['README.md', 'CHANGELOG.md']);
  for (const page of reached) {
    const targets = linksOf(page).map(({ target }) => (target === 'docs/decisions' ? 'docs/decisions/README.md' : target));
    for (const target of targets) if (PAGES.includes(target)) reached.add(target);
  }
  expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
});

it('excludes no folder from the prose linter that is gone', () => {
  const lines = readFileSync(join(ROOT, '.textlintignore'), 'utf8').split('\n');
  const excluded = lines.filter((line) => /^(?:src|test|bench|bin|prisma)\b/.test(line));
  expect(excluded.filter((path) => globSync(path, { cwd: ROOT }).length === 0)).toEqual([]);
});

/** The files that have the tests of the table, unless a row names another one. */
const DIALECTS = ['dialects.test.ts', 'sibling-dialects.test.ts', 'call-assembler.test.ts'];
const TEST_FILES = globSync('test/**/*.test.ts', { cwd: ROOT });

it('each row of "What endpoints send" names tests that exist', () => {
  const [, section = ''] = textOf('docs/runtimes.md').split('\n## What endpoints send\n');
  const [table = ''] = section.split('\n## ');
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  const faults = rows.flatMap((row) => {
    const names = [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    const named_files = names.filter((name) => name.endsWith('.test.ts'));
    const files = TEST_FILES.filter((file) => [...DIALECTS, ...named_files].some((name) => file.endsWith(`/${name}`)));
    const texts = files.map(textOf).join('\n');
    const isMissing = (name: string) =>
      name.endsWith('.test.ts') ? !files.some((file) => file.endsWith(`/${name}`)) : !texts.includes(name.replace(/ ?….*$/, ''));
    return names.length === 0 ? [row] : names.filter(isMissing);
  });
  expect(rows.length).toBeGreaterThan(30);
  expect(faults).toEqual([]);
});
