import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names the folder that `npm run coverage` collects in; not set in other runs. */
export const COVERAGE_FOLDER = 'PERDURA_COVERAGE';

export const coverageFolder = (): string | undefined => process.env[COVERAGE_FOLDER];

/** The variable with which a child of Node writes what it executed when it ends by itself. One that is killed writes nothing. */
export function coverageOfChildren(): Record<string, string> {
  const folder = coverageFolder();
  return folder ? { [COVERAGE_FOLDER]: folder, NODE_V8_COVERAGE: join(folder, 'children') } : {};
}

let written = 0;

/** Writes one measurement. `kind` is the folder: `tests` or `pages`. */
export function writeCoverage(folder: string, kind: string, measured: object): void {
  mkdirSync(join(folder, kind), { recursive: true });
  writeFileSync(join(folder, kind, `${process.pid}-${Date.now()}-${++written}.json`), JSON.stringify(measured));
}
