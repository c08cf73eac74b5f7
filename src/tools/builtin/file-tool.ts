import { readFileSync } from 'node:fs';
import type { ToolRunner } from '../../toolrunner/runner.ts';
import { type ToolCall, type ToolOutcome, unreachableWhileDown } from '../source.ts';

export interface FilePorts {
  runner: ToolRunner;
}

const loadSource = (name: string) => readFileSync(new URL(`./python/${name}.py`, import.meta.url), 'utf8');
const PATHS = loadSource('paths');

/** A tool on files of the workspace: Python in the same confinement as users' tools, so that no path leads out of the workspace. */
export function fileTool(name: string, rename: Record<string, string> = {}) {
  const source = `${PATHS}\n\n${loadSource(name)}`;
  return ({ runner }: FilePorts) =>
    async ({ arguments: given, call_key, run }: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
      const entries = Object.entries(given).filter(([, value]) => value !== null);
      const args = Object.fromEntries(entries.map(([key, value]) => [rename[key] ?? key, value]));
      const workspace = await run.workspace(signal);
      const job = { name, source, arguments: args, env: {}, call_key, workspace };
      const answer = await runner.run(job, signal).catch(unreachableWhileDown);
      if (answer.error !== null) return { content: answer.error, failed: true };
      const { result } = JSON.parse(answer.result) as { result: string };
      return { content: result, failed: false };
    };
}
