import type { ToolEffect } from './effects.ts';
import { isNumbered, modelName, prefixName } from './tool-names.ts';

/**
 * The identity of a tool: its source and its own name there, such as `custom:<id>`, `mcp:<server id>:<name>` or `builtin:bash`.
 * Others can take or change the names that a model sees, but not this.
 */
export type ToolIdentity = string;

type ToolKind = 'builtin' | 'custom' | 'mcp' | 'definition' | 'hosted' | 'client';

export const toolIdentity = (kind: ToolKind, ...own: string[]): ToolIdentity => [kind, ...own].join(':');

/** The origin of an offered tool, independent of the name that the model sees. */
export interface ToolOrigin {
  tool: ToolIdentity;
  /** Every name that a guard can list for the tool. */
  names: string[];
}

/** A tool of an agent, before it is offered. */
export interface AgentTool {
  tool: ToolIdentity;
  own: string;
  /** The prefix that distinguishes the tool from another one of that name. */
  prefix: string;
}

/** The present names of custom tools and MCP servers, by id. */
export interface PresentNames {
  custom: ReadonlyMap<string, string>;
  mcp: ReadonlyMap<string, string>;
}

export const PREFIXES = {
  builtin: 'builtin',
  custom: 'custom',
  definition: 'defined',
  hosted: 'hosted',
  client: 'client',
} as const;

/** Returns the tools behind identities. Those of a source that was deleted are missing. */
export function resolveTools(identities: readonly ToolIdentity[], { custom, mcp }: PresentNames): Map<ToolIdentity, AgentTool> {
  const tools = identities.flatMap((tool): AgentTool[] => {
    const [kind = '', first = '', ...rest] = tool.split(':');
    if (kind === 'mcp') {
      const server = mcp.get(first);
      return server === undefined ? [] : [{ tool, own: rest.join(':'), prefix: modelName(server) }];
    }
    const own = kind === 'custom' ? custom.get(first) : [first, ...rest].join(':');
    return own === undefined ? [] : [{ tool, own, prefix: PREFIXES[kind as keyof typeof PREFIXES] }];
  });
  return new Map(tools.map((tool) => [tool.tool, tool]));
}

export const namesOfTool = ({ own, prefix }: Pick<AgentTool, 'own' | 'prefix'>): string[] => [
  ...new Set([own, modelName(own), prefixName(prefix, modelName(own))]),
];

/** True if a listed name means this tool: its own name, or one under which a run may offer it. */
export const fitsTool = (name: string, tool: AgentTool): boolean =>
  namesOfTool(tool).includes(name) || isNumbered(name, prefixName(tool.prefix, modelName(tool.own)));

/** A listed name, and the tool that it was pinned to. Null: not pinned yet, so it guards any tool that it fits. */
export interface ApprovalGuard {
  name: string;
  tool: ToolIdentity | null;
}

/** The guards of an agent as stored in the database. */
export interface StoredGuards {
  approval_tools: readonly string[];
  approval_guards: readonly ApprovalGuard[];
}

/**
 * Lists all guards of an agent. A listed name without a pin, such as one of an MCP server that has not been listed yet, is a
 * guard as well.
 */
export function listGuards({ approval_tools, approval_guards }: StoredGuards): ApprovalGuard[] {
  const bare = approval_tools.filter((name) => !approval_guards.some((guard) => guard.name === name));
  return [...approval_guards, ...bare.map((name) => ({ name, tool: null }))];
}

export const listGuardedTools = (guards: readonly ApprovalGuard[]): ToolIdentity[] => [
  ...new Set(guards.flatMap(({ tool }) => tool ?? [])),
];

/** Returns the name under which a guard is shown: the listed one as long as it fits, otherwise the tool's present one. */
function getGuardName({ name, tool }: ApprovalGuard, tools_by_identity: ReadonlyMap<ToolIdentity, AgentTool>): string {
  const guarded_tool = tool === null ? undefined : tools_by_identity.get(tool);
  if (!guarded_tool || fitsTool(name, guarded_tool)) return name;
  return guarded_tool.tool.startsWith('mcp:') ? prefixName(guarded_tool.prefix, modelName(guarded_tool.own)) : guarded_tool.own;
}

/** Lists the names of all guards, each once. */
export const listGuardNames = (
  guards: readonly ApprovalGuard[],
  tools_by_identity: ReadonlyMap<ToolIdentity, AgentTool>,
): string[] => [...new Set(guards.map((guard) => getGuardName(guard, tools_by_identity)))];

interface Pinning {
  /** The guards that the agent has. */
  before: readonly ApprovalGuard[];
  /** The tools of the agent. */
  tools: readonly AgentTool[];
  /** The agent's tools, and those that `before` is pinned to. */
  tools_by_identity: ReadonlyMap<ToolIdentity, AgentTool>;
}

export interface PinnedGuards {
  guards: ApprovalGuard[];
  /** Names that fit none of the agent's tools. */
  unmatched_names: string[];
  /** Those of `unmatched_names` that the agent did not have before. */
  new_unmatched_names: string[];
}

/** Pins names to every tool that they fit. A guard that the agent has under a name keeps its pin, whatever the tool is called now. */
export function pinGuards(names: readonly string[], { before, tools, tools_by_identity }: Pinning): PinnedGuards {
  const result: PinnedGuards = { guards: [], unmatched_names: [], new_unmatched_names: [] };
  for (const name of new Set(names)) {
    const kept_guards = before.filter((guard) => getGuardName(guard, tools_by_identity) === name);
    const fits = tools.filter((tool) => fitsTool(name, tool) && !kept_guards.some((guard) => guard.tool === tool.tool));
    const pins = [...kept_guards.filter(({ tool }) => tool !== null), ...fits.map(({ tool }) => ({ name, tool }))];
    result.guards.push(...(pins.length > 0 ? pins : [{ name, tool: null }]));
    if (pins.some(({ tool }) => tools.some((one) => one.tool === tool))) continue;
    result.unmatched_names.push(name);
    if (kept_guards.length === 0) result.new_unmatched_names.push(name);
  }
  return result;
}

/** The guards that a run is pinned with. */
export interface RunGuards {
  /** Names; each guards every tool that it fits. */
  approval_tools: string[];
  /** Tools that are guarded under any name; absent: none. */
  guarded_tools?: ToolIdentity[];
  /** Effects whose calls wait for a person; absent: none. */
  approve_effects?: ToolEffect[];
}

/** Returns the guards that a run of the agent is pinned with. */
export function runGuards(agent: StoredGuards & { approve_effects: readonly string[] }, names: PresentNames): RunGuards {
  const guards = listGuards(agent);
  const guarded_tools = listGuardedTools(guards);
  const tools_by_identity = resolveTools(guarded_tools, names);
  const approve_effects = agent.approve_effects as ToolEffect[];
  return {
    approval_tools: [
      ...new Set([...agent.approval_tools, ...guards.map(({ name }) => name), ...listGuardNames(guards, tools_by_identity)]),
    ],
    ...(guarded_tools.length > 0 ? { guarded_tools } : {}),
    ...(approve_effects.length > 0 ? { approve_effects } : {}),
  };
}

/** The fields of an offered tool that matter for guards. A tool of the client has no origin. */
interface Offered {
  name: string;
  effect?: ToolEffect;
  origin?: ToolOrigin;
}

/**
 * True if a call of this tool waits: for a person, or for the client that executes it. A tool of unknown effect counts as a
 * write.
 */
export function asksFirst(
  { approval_tools, guarded_tools = [], approve_effects = [] }: RunGuards,
  { name, effect = 'write', origin }: Offered,
): boolean {
  if (origin?.tool.startsWith('client:')) return true;
  if (approve_effects.includes(effect) || (origin && guarded_tools.includes(origin.tool))) return true;
  return [name, ...(origin?.names ?? [])].some((one) => approval_tools.includes(one));
}
