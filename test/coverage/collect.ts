import { Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect } from 'vitest';
import { coverageFolder, writeCoverage } from './folder.ts';
import { recordStatements } from './statements.ts';

// The processes of Vitest are killed at the end, before they could write what they executed: each test file writes its part.
const SESSION = Symbol.for('perdura.coverage');
const folder = coverageFolder();
if (folder) collectFor(folder);

function collectFor(folder: string): void {
  const source = pathToFileURL(join(import.meta.dirname, '../../src/')).href;
  const listStatements = recordStatements();
  const session = openSession();
  afterAll(() => {
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error) throw error;
      const result = taken.result.filter(({ url }) => url.startsWith(source));
      writeCoverage(folder, 'tests', { test: expect.getState().testPath, statements: listStatements(), result });
    });
  });
}

/**
 * Opens the session that all test files of a process share. A function that was compiled before a session began is counted as a
 * whole, without its branches, and modules are loaded once for all files.
 */
function openSession(): Session {
  const holder = globalThis as { [SESSION]?: Session };
  if (holder[SESSION]) return holder[SESSION];
  const session = new Session();
  session.connect();
  // Callbacks run before `post` returns.
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  holder[SESSION] = session;
  return session;
}
