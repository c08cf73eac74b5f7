declare module '@bcoe/v8-coverage' {
  import type { Profiler } from 'node:inspector';

  export type ScriptCov = Profiler.ScriptCoverage;

  /** Adds the counts of measurements of one script; undefined if there are none. */
  export function mergeScriptCovs(scripts: readonly ScriptCov[]): ScriptCov | undefined;
}
