import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

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

/** Takes what the sources have executed since the last time. */
export function takeCoverage(session: Session): Profiler.ScriptCoverage[] {
  let result: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error;
    const isExecuted = ({ ranges }: Profiler.FunctionCoverage) => ranges.some(({ count }) => count > 0);
    result = taken.result.filter(({ url, functions }) => url.startsWith(SOURCES) && functions.some(isExecuted));
  });
  return result;
}
