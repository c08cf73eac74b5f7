import { readFileSync } from 'node:fs';
import type { ToolSpec } from '../../domain/definition.ts';
import type { ToolRunner } from '../../toolrunner/runner.ts';
import { type ToolCall, type ToolOutcome, unreachableWhileDown } from '../source.ts';
import type { Builtin } from './tool.ts';

export interface FilePorts {
  runner: ToolRunner;
}

interface FileToolOptions extends Pick<Builtin, 'at_vendor'> {
  /** The parameters that have another name in Python. */
  rename?: Record<string, string>;
}

const loadSource = (name: string) => readFileSync(new URL(`./python/${name}.py`, import.meta.url), 'utf8');
const PATHS = loadSource('paths');

/**
 * A tool on files of the workspace: `python/<name>.py`, in the same confinement as users' tools, so that no path leads out of the
 * workspace. If its effect is `read`, it also works in a workspace that is full.
 */
export function fileTool(spec: ToolSpec, { at_vendor, rename = {} }: FileToolOptions): Builtin<FilePorts> {
  const { name } = spec;
  const reads_only = spec.effect === 'read';
  const source = `${PATHS}\n\n${loadSource(name)}`;
  const create =
    ({ runner }: FilePorts) =>
    async ({ arguments: given, call_key, run }: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
      const entries = Object.entries(given).filter(([, value]) => value !== null);
      const args = Object.fromEntries(entries.map(([key, value]) => [rename[key] ?? key, value]));
      const workspace = await run.workspace(signal, { reads_only });
      const job = { name, source, arguments: args, env: {}, call_key, workspace };
      const answer = await runner.run(job, signal).catch(unreachableWhileDown);
      if (answer.error !== null) return { content: answer.error, failed: true };
      const { result } = JSON.parse(answer.result) as { result: string };
      return { content: result, failed: false };
    };
  return { spec, works_on: 'workspace', at_vendor, create };
}
