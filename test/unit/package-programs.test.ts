import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findProgram } from '../../src/tools/mcp/packages/install.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'package-programs-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};
const manifest = (bin: unknown) => JSON.stringify({ name: '@notes/server', ...(bin === undefined ? {} : { bin }) });

it.each<[string, string, string]>([
  ['its only program', manifest({ 'read-notes': 'a.js' }), 'read-notes'],
  ['of several the one with its own name', manifest({ 'read-notes': 'a.js', server: 'b.js' }), 'server'],
  ['its own name if the manifest has a path alone', manifest('a.js'), 'server'],
  ['its own name if the manifest names no program', manifest(undefined), 'server'],
  ['its own name if the manifest has null', manifest(null), 'server'],
  ['its own name if a program is called by a path', manifest({ '../../outside': 'a.js' }), 'server'],
  ['its own name if the manifest is damaged', '{"bin": {', 'server'],
])('a package of npm starts %s', async (_, text, program) => {
  write('node_modules/@notes/server/package.json', text);
  for (const name of ['read-notes', 'server']) write(`node_modules/.bin/${name}`, '');
  const launch = { registry: 'npm' as const, specs: ['@notes/server@1.7.0'], program: null, used: 1 };
  expect(await findProgram(dir, launch)).toBe(join(dir, 'node_modules/.bin', program));
});

it.each([
  ['npm', 'node_modules/.bin', '--package'],
  ['pypi', 'env/bin', '--from'],
] as const)(
  'a program that a package of %s does not have is refused with the option that names another',
  async (registry, place, option) => {
    write(`${place}/read-notes`, '');
    const launch = (program: string) => ({ registry, specs: ['notes'], program, used: 1 });
    expect(await findProgram(dir, launch('read-notes'))).toBe(join(dir, place, 'read-notes'));
    await expect(findProgram(dir, launch('write-notes'))).rejects.toThrow(
      `it has no program named write-notes; name one with ${option}`,
    );
  },
);
