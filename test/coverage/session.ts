import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleFolder } from './folder.ts';

const SESSION = Symbol.for('perdura.coverage');
const SOURCES = pathToFileURL(join(import.meta.dirname, '../../src/')).href;

/**
 * Opens the session that all test files of a process share. A function that was compiled before a session began is counted as a
 * whole, without its branches, and modules are loaded once for all files.
 */
export function openSession(): Session {
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

/** Takes what the sources have executed since the last time, and the bundles of the dashboard that `folder` keeps. */
export function takeCoverage(session: Session, folder: string): Profiler.ScriptCoverage[] {
  const measured = [SOURCES, pathToFileURL(bundleFolder(folder)).href];
  let result: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error;
    const isExecuted = ({ ranges }: Profiler.FunctionCoverage) => ranges.some(({ count }) => count > 0);
    result = taken.result.filter(
      ({ url, functions }) => measured.some((place) => url.startsWith(place)) && functions.some(isExecuted),
    );
  });
  return result;
}
