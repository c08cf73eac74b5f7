import type { PinnedTool } from '../domain/definition.ts';
import { formatRefusal } from '../domain/errors.ts';
import { findOutage } from '../domain/outages.ts';
import { toolIdentity } from '../domain/tool-guards.ts';
import type { ToolRunner } from '../toolrunner/runner.ts';
import { type RunContext, type ToolSource, ToolUnreachable, unreachableWhileDown } from './source.ts';

type PinnedCustomTool = Extract<PinnedTool, { kind: 'custom' }>;

export interface PythonPorts {
  runner: ToolRunner;
  /** Opens a stored token for a tool; throws a sentence if it may not be used. */
  openToken(name: string, asking: { tool: PinnedCustomTool; variable: string }, run: RunContext): Promise<string>;
}

/** Creates custom Python tools; each call runs in a separate process. */
export function createPythonTools({ runner, openToken }: PythonPorts, tools: readonly PinnedCustomTool[]): ToolSource {
  return {
    list: async () =>
      tools.map(({ id = '', name, description, parameters, effect }) => {
        return { name, description, parameters, effect, identity: toolIdentity('custom', id) };
      }),
    async call({ name, arguments: args, call_key, run }, signal) {
      const tool = tools.find((candidate) => candidate.name === name)!;
      const resolved = await resolveEnv(tool.env, (token, variable) => openToken(token, { tool, variable }, run));
      if ('refusal' in resolved) return { content: JSON.stringify({ error: resolved.refusal }), failed: true };
      const { source_code: source, network } = tool;
      const workspace = await run.workspace(signal);
      const job = { name, source, arguments: args, env: resolved.env, call_key, network, workspace };
      const answer = await runner.run(job, signal).catch(unreachableWhileDown);
      const { result, error, stdout, stderr } = answer;
      return { content: result, failed: error !== null, stdout, stderr, isolation: runner.isolation };
    },
  };
}

type ResolvedEnv = { env: Record<string, string> } | { refusal: string };

/** Fills a tool's variables from stored tokens. Throws a sentence that names the first variable that cannot be filled. */
export async function resolveEnv(
  mapping: Record<string, string | null>,
  open: (token: string, variable: string) => Promise<string>,
): Promise<ResolvedEnv> {
  const env: Record<string, string> = {};
  for (const [variable, token] of Object.entries(mapping)) {
    if (!token) return { refusal: `The variable ${variable} is mapped to no stored token` };
    try {
      env[variable] = await open(token, variable);
    } catch (error) {
      if (findOutage(error)) throw new ToolUnreachable((error as Error).message, { cause: error });
      return { refusal: `The variable ${variable} cannot be filled: ${formatRefusal(error as Error)}` };
    }
  }
  return { env };
}
