import type { PinnedTool } from '../domain/definition.ts';
import { databaseIsAway } from '../domain/errors.ts';
import type { ToolRunner } from '../toolrunner/runner.ts';
import { type RunContext, type ToolSource, ToolUnreachable } from './source.ts';

export type PinnedCustomTool = Extract<PinnedTool, { kind: 'custom' }>;

export interface PythonPorts {
  runner: ToolRunner;
  /** Opens a stored token for a tool; throws a sentence when it may not be used. */
  openToken(name: string, tool: string, run: RunContext): Promise<string>;
}

/** Custom Python tools, each call in a process of its own. */
export function pythonTools({ runner, openToken }: PythonPorts, tools: readonly PinnedCustomTool[]): ToolSource {
  return {
    list: async () => tools.map(({ name, description, parameters, effect }) => ({ name, description, parameters, effect })),
    async call({ name, arguments: args, call_key, run }, signal) {
      const tool = tools.find((candidate) => candidate.name === name);
      if (!tool) return { content: `There is no tool named ${name}`, failed: true };
      const resolved = await resolveEnv(tool.env, (token) => openToken(token, name, run));
      if ('refusal' in resolved) return { content: JSON.stringify({ error: resolved.refusal }), failed: true };
      const { source_code: source } = tool;
      const network = needsNetwork(tool);
      const workspace = await run.workspace(signal);
      const answer = await runner.run({ name, source, arguments: args, env: resolved.env, call_key, network, workspace }, signal);
      const { result, error, stdout, stderr } = answer;
      return { content: result, failed: error !== null, stdout, stderr, isolation: runner.isolation };
    },
  };
}

/** A tool reaches out if it says so, or if it is given a secret to use elsewhere. */
export const needsNetwork = ({ network, env }: { network: boolean; env: Record<string, unknown> }): boolean =>
  network || Object.keys(env).length > 0;

export type ResolvedEnv = { env: Record<string, string> } | { refusal: string };

/** Fills a tool's variables from stored tokens; the first that cannot be filled is named. */
export async function resolveEnv(
  mapping: Record<string, string | null>,
  open: (token: string) => Promise<string>,
): Promise<ResolvedEnv> {
  const env: Record<string, string> = {};
  for (const [variable, token] of Object.entries(mapping)) {
    if (!token) return { refusal: `The variable ${variable} is mapped to no stored token` };
    try {
      env[variable] = await open(token);
    } catch (error) {
      if (databaseIsAway(error)) throw new ToolUnreachable((error as Error).message);
      return { refusal: `The variable ${variable} cannot be filled: ${(error as Error).message}` };
    }
  }
  return { env };
}
