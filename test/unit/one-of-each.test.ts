import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(SRC, join(entry.parentPath, entry.name)))
  .filter((file) => !file.startsWith('generated/'))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8') }));

const filesWith = (pattern: RegExp, folder = '') =>
  sources.filter(({ file, text }) => file.startsWith(folder) && pattern.test(text)).map(({ file }) => file);

it('casts nothing to never in the API: what a handler answers is held against its contract', () => {
  expect(filesWith(/\bas (never|unknown as)\b/, 'api/')).toEqual([]);
});

/** What there were copies of, with the one file that may have it. */
const ONE_OF_EACH: [what: string, pattern: RegExp, file: string][] = [
  ['list of terminal statuses', /'completed',\s*'failed',\s*'halted'/, 'domain/statuses.ts'],
  ['pattern of a UUID', /\[0-9a-f\]\{8\}|\[0-9a-f-\]\{36\}/, 'domain/uuid.ts'],
  ['end of a process group', /process\.kill\(-/, 'toolrunner/kill-group.ts'],
  ['queue of a stream', /wake = resolve/, 'domain/mailbox.ts'],
  ['list of search attributes', /'PerduraOwner',/, 'temporal/names.ts'],
  ['sender of server-sent events', /\.type\('text\/event-stream'\)/, 'api/http/sse.ts'],
  ['lookup of what is the caller’s own', /const getOwnTask\b/, 'api/checks/owned.ts'],
];

for (const [what, pattern, file] of ONE_OF_EACH)
  it(`has one ${what}`, () => {
    expect(filesWith(pattern)).toEqual([file]);
  });

it('parses server-sent events with a library alone', () => {
  expect(filesWith(/split\('\\n\\n'\)|\^data: /)).toEqual([]);
});

it('spreads no literal into an object', () => {
  expect(filesWith(/(?<!\{)\.\.\.\{ ?['\w-]+ ?[,:}]/)).toEqual([]);
});
