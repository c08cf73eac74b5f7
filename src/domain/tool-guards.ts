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
  const found = identities.flatMap((tool): AgentTool[] => {
    const [kind = '', first = '', ...rest] = tool.split(':');
    if (kind === 'mcp') {
      const server = mcp.get(first);
      return server === undefined ? [] : [{ tool, own: rest.join(':'), prefix: modelName(server) }];
    }
    const own = kind === 'custom' ? custom.get(first) : [first, ...rest].join(':');
    return own === undefined ? [] : [{ tool, own, prefix: PREFIXES[kind as keyof typeof PREFIXES] }];
  });
  return new Map(found.map((tool) => [tool.tool, tool]));
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
  approval_guards?: readonly ApprovalGuard[] | null;
}

/**
 * Lists all guards of an agent. A listed name without a pin, such as one of an MCP server that has not been listed yet, is a
 * guard as well.
 */
export function listGuards({ approval_tools, approval_guards }: StoredGuards): ApprovalGuard[] {
  const pinned = approval_guards ?? [];
  const bare = approval_tools.filter((name) => !pinned.some((guard) => guard.name === name));
  return [...pinned, ...bare.map((name) => ({ name, tool: null }))];
}

export const listGuardedTools = (guards: readonly ApprovalGuard[]): ToolIdentity[] => [
  ...new Set(guards.flatMap(({ tool }) => tool ?? [])),
];

/** Returns the name under which a guard is shown: the listed one as long as it fits, otherwise the tool's present one. */
function getGuardName({ name, tool }: ApprovalGuard, known: ReadonlyMap<ToolIdentity, AgentTool>): string {
  const found = tool === null ? undefined : known.get(tool);
  if (!found || fitsTool(name, found)) return name;
  return found.tool.startsWith('mcp:') ? prefixName(found.prefix, modelName(found.own)) : found.own;
}

/** Lists the names of all guards, each once. */
export const listGuardNames = (guards: readonly ApprovalGuard[], known: ReadonlyMap<ToolIdentity, AgentTool>): string[] => [
  ...new Set(guards.map((guard) => getGuardName(guard, known))),
];

interface Pinning {
  /** The guards that the agent has. */
  before: readonly ApprovalGuard[];
  /** The tools of the agent. */
  tools: readonly AgentTool[];
  /** The agent's tools, and those that `before` is pinned to. */
  known: ReadonlyMap<ToolIdentity, AgentTool>;
}

export interface PinnedGuards {
  guards: ApprovalGuard[];
  /** Names that fit none of the agent's tools. */
  unfit: string[];
  /** Those of `unfit` that the agent did not have before. */
  added: string[];
}

/** Pins names to every tool that they fit. A guard that the agent has under a name keeps its pin, whatever the tool is called now. */
export function pinGuards(names: readonly string[], { before, tools, known }: Pinning): PinnedGuards {
  const pinned: PinnedGuards = { guards: [], unfit: [], added: [] };
  for (const name of new Set(names)) {
    const kept = before.filter((guard) => getGuardName(guard, known) === name);
    const fits = tools.filter((tool) => fitsTool(name, tool) && !kept.some((guard) => guard.tool === tool.tool));
    const pins = [...kept.filter(({ tool }) => tool !== null), ...fits.map(({ tool }) => ({ name, tool }))];
    pinned.guards.push(...(pins.length > 0 ? pins : [{ name, tool: null }]));
    if (pins.some(({ tool }) => tools.some((one) => one.tool === tool))) continue;
    pinned.unfit.push(name);
    if (kept.length === 0) pinned.added.push(name);
  }
  return pinned;
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
export function runGuards(agent: StoredGuards & { approve_effects?: readonly string[] | null }, names: PresentNames): RunGuards {
  const guards = listGuards(agent);
  const guarded_tools = listGuardedTools(guards);
  const known = resolveTools(guarded_tools, names);
  const approve_effects = (agent.approve_effects ?? []) as ToolEffect[];
  return {
    approval_tools: [...new Set([...agent.approval_tools, ...guards.map(({ name }) => name), ...listGuardNames(guards, known)])],
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
