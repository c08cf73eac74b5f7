import type { Definition, HostedTool, PinnedProvider } from './definition.ts';
import { type ApprovalGuard, fitsTool, listGuards, PREFIXES, type StoredGuards, toolIdentity } from './tool-guards.ts';

/** True if a stored tool definition is in the format of the vendor that runs the tool; otherwise it is a function. */
export const isHosted = (tool: object): tool is HostedTool => !('function' in tool);

export const listHostedTools = ({ tools }: Pick<Definition, 'tools'>): HostedTool[] =>
  tools.flatMap((tool) => (tool.kind === 'hosted' ? [tool.tool] : []));

type Kind = Pick<PinnedProvider, 'provider_type'> | null;

/** True if the vendor behind a provider runs its tools in the API that is used for it. */
export const runsHosted = (provider: Kind): boolean => provider?.provider_type === 'anthropic_messages';

export const whoRuns = ({ type }: HostedTool, provider: Kind): string =>
  `\`${type}\` is a tool that Anthropic runs, and only for a provider of type \`anthropic_messages\`; this agent uses ` +
  `${provider ? `a provider of type \`${provider.provider_type}\`` : 'the default runtime'}. Give it such a provider, or name a tool of ` +
  'GET /api/builtin-tools in `builtin_tools` instead';

interface Guarding extends StoredGuards {
  approve_effects?: readonly string[] | null;
}

/**
 * Returns a guard of an agent that cannot be enforced, because the vendor runs the tool without asking, and the field that has
 * the guard; null if there is none.
 */
export function unkeptGuard(tools: readonly HostedTool[], agent: Guarding): { field: string; message: string } | null {
  const [first] = tools;
  if (!first) return null;
  const advice = 'which its vendor runs without asking. Remove one of the two; a tool of `builtin_tools` can be guarded';
  const conflicts = tools.flatMap((tool) => listGuards(agent).filter((guard) => guards(guard, tool)));
  if (conflicts[0])
    return {
      field: 'approval_tools',
      message: `\`${conflicts[0].name}\` cannot guard the tool of that name in \`tool_definitions\`, ${advice}`,
    };
  if (!agent.approve_effects?.length) return null;
  return { field: 'approve_effects', message: `\`approve_effects\` cannot guard \`${first.name}\`, ${advice}` };
}

const guards = ({ name, tool }: ApprovalGuard, { name: own }: HostedTool): boolean => {
  const identity = toolIdentity('hosted', own);
  return tool === identity || fitsTool(name, { tool: identity, own, prefix: PREFIXES.hosted });
};
