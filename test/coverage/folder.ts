import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names the folder that `npm run coverage` collects in; not set in other runs. */
export const COVERAGE_FOLDER = 'PERDURA_COVERAGE';

export const coverageFolder = (): string | undefined => process.env[COVERAGE_FOLDER];

/** Where a run keeps the bundles of the dashboard that it measures: a test that builds the package replaces the one in `dist`. */
export const bundleFolder = (folder: string): string => join(folder, 'dist');

/** The folder for what children of Node write. Those of another account write there, too. */
export const CHILDREN = 'children';
const EVERYBODY = 0o1777;

export function openFolder(folder: string): void {
  mkdirSync(join(folder, CHILDREN), { recursive: true });
  chmodSync(folder, 0o711);
  chmodSync(join(folder, CHILDREN), EVERYBODY);
}

/**
 * The variables with which a child of Node writes what it executed when it ends by itself. Functions that come from the compile
 * cache are not counted in full.
 */
export function coverageOfChildren(): Record<string, string> {
  const folder = coverageFolder();
  if (!folder) return {};
  return { [COVERAGE_FOLDER]: folder, NODE_V8_COVERAGE: join(folder, CHILDREN), NODE_DISABLE_COMPILE_CACHE: '1' };
}

const WRITER = join(import.meta.dirname, 'killed.ts');
const PATIENCE_MS = 5_000;

/** The flags with which a child of Node writes what it executed also when `killMeasured` kills it. */
export const flagsOfChildren = (): string[] => (coverageFolder() ? ['--import', WRITER] : []);

/** Kills a child as SIGKILL does. One that is measured writes what it executed before that, if it still can. */
export function killMeasured(child: ChildProcess): void {
  if (!child.spawnargs.includes(WRITER)) return void child.kill('SIGKILL');
  child.kill('SIGUSR2');
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  child.once('exit', () => clearTimeout(timer));
}

let written = 0;

/** Writes one measurement. `kind` is the folder: `tests` or `pages`. */
export function writeCoverage(folder: string, kind: string, measured: object): void {
  mkdirSync(join(folder, kind), { recursive: true });
  writeFileSync(join(folder, kind, `${process.pid}-${Date.now()}-${++written}.json`), JSON.stringify(measured));
}
