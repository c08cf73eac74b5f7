import type { ToolRun } from './runner.ts';

/** One call as it goes to the Python side: a single JSON line. */
export interface Job {
  name: string;
  source: string;
  arguments: Record<string, unknown>;
  env: Record<string, string>;
  timeout_ms: number;
}

const BASE_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/tmp', TMPDIR: '/tmp' };

/** Nothing of the service's own environment reaches a tool. */
export function toJob(call: ToolRun, timeout_ms: number): Job {
  const workspace: Record<string, string> = call.workspace ? { PERDURA_WORKSPACE: call.workspace } : {};
  return {
    name: call.name,
    source: call.source,
    arguments: call.arguments,
    env: { ...BASE_ENV, ...call.env, PERDURA_CALL_KEY: call.call_key, ...workspace },
    timeout_ms,
  };
}
