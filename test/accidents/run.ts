import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ACCIDENTS, type Accident } from './catalogue.ts';

/** `npm run accidents [id …]`: runs the tests of these accidents, or of all. */
const ROOT = join(import.meta.dirname, '../..');
const VITEST = join(ROOT, 'node_modules/.bin/vitest');
const PROJECTS = ['--project=main', '--project=rest', '--project=accidents'];

const escaped = (name: string) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function list(): void {
  const width = Math.max(...ACCIDENTS.map(({ id }) => id.length));
  for (const { id, accident, tests } of ACCIDENTS) {
    const slow = tests.filter(({ file }) => file.startsWith('test/accidents/')).length;
    console.log(`${id.padEnd(width)}  ${accident} (${tests.length} tests, ${tests.length - slow} of them in npm test)`);
  }
}

function chosen(ids: readonly string[]): readonly Accident[] {
  const unknown = ids.filter((id) => !ACCIDENTS.some((accident) => accident.id === id));
  if (unknown.length > 0)
    throw new Error(`No accident is called ${unknown.join(' or ')}. npm run accidents -- --list shows all.`);
  return ids.length === 0 ? ACCIDENTS : ACCIDENTS.filter(({ id }) => ids.includes(id));
}

async function run(accidents: readonly Accident[]): Promise<number> {
  const tests = accidents.flatMap((accident) => accident.tests);
  const names = [...new Set(tests.map(({ name }) => escaped(name)))];
  const files = [...new Set(tests.map(({ file }) => file))];
  const child = spawn(VITEST, ['run', ...PROJECTS, '--reporter=verbose', '-t', names.join('|'), ...files], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code ?? 1)));
}

const { values, positionals } = parseArgs({ options: { list: { type: 'boolean' } }, allowPositionals: true });
try {
  if (values.list) list();
  else process.exitCode = await run(chosen(positionals));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
