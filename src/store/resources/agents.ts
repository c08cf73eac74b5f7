import type { Agent } from '../../contracts/agents.ts';
import { isHosted } from '../../domain/hosted-tools.ts';
import {
  type AgentTool,
  type ApprovalGuard,
  listGuardedTools,
  listGuardNames,
  listGuards,
  type PinnedGuards,
  PREFIXES,
  type PresentNames,
  pinGuards,
  resolveTools,
  type StoredGuards,
  toolIdentity,
} from '../../domain/tool-guards.ts';
import { modelName } from '../../domain/tool-names.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { type Resource, resource } from '../database/resource.ts';
import type { mcpListingStore } from './mcp-listings.ts';

/** An agent with the tools that its guards are pinned to. The API shows only their names. */
export type StoredAgent = Agent & { approval_guards: ApprovalGuard[] };

/** The guards of an agent after a change of its fields. */
interface JudgedGuards extends PinnedGuards {
  /** The names of the agent's tools, as far as they are known. */
  tool_names: string[];
  /** MCP servers that have not listed their tools, as sentences' subjects. */
  unlisted_sources: string[];
}

interface Parts {
  prisma: Pick<Prisma.TransactionClient, 'agent' | 'customTool' | 'mcpServer'>;
  listings: Pick<ReturnType<typeof mcpListingStore>, 'of'>;
  /** Their MCP servers join the agents of others by tag. */
  admins: readonly string[];
}

/** Fields that decide which tools a listed name fits. */
const DECIDING = [
  ...(['approval_tools', 'builtin_tools', 'custom_tool_ids', 'mcp_server_ids', 'mcp_server_tags'] as const),
  ...(['required_mcp_servers', 'tool_definitions'] as const),
];

export function agentStore({ prisma, listings, admins }: Parts) {
  const table = resource<StoredAgent>(prisma.agent, { noun: 'agent', has_tags: false });

  async function presentNames(guards: readonly ApprovalGuard[]): Promise<PresentNames> {
    const listToolIds = (kind: string) =>
      listGuardedTools(guards).flatMap((tool) => (tool.startsWith(`${kind}:`) ? tool.split(':')[1]! : []));
    const loadNames = async (ids: string[], model: { findMany(args: object): Promise<{ id: string; name: string }[]> }) => {
      const records =
        ids.length > 0 ? await model.findMany({ where: { id: { in: ids } }, select: { id: true, name: true } }) : [];
      return new Map(records.map(({ id, name }) => [id, name]));
    };
    return {
      custom: await loadNames(listToolIds('custom'), prisma.customTool),
      mcp: await loadNames(listToolIds('mcp'), prisma.mcpServer),
    };
  }

  /** Returns the records with their guards listed by the present names of the tools. */
  async function withPresentNames<R extends StoredGuards>(records: readonly R[]): Promise<R[]> {
    const names = await presentNames(records.flatMap(listGuards));
    return records.map((record) => {
      const guards = listGuards(record);
      return {
        ...record,
        approval_tools: listGuardNames(guards, resolveTools(listGuardedTools(guards), names)),
        approval_guards: guards,
      };
    });
  }

  async function listServers({
    mcp_server_ids = [],
    required_mcp_servers = [],
    mcp_server_tags = [],
    created_by,
  }: Partial<Agent>) {
    const ids = [...mcp_server_ids, ...required_mcp_servers].filter(isUuid);
    if (ids.length + mcp_server_tags.length === 0) return [];
    const joining = { tags: { hasSome: mcp_server_tags }, created_by: { in: [...admins, created_by!] } };
    return prisma.mcpServer.findMany({
      where: { OR: [{ id: { in: ids } }, joining] },
      select: { id: true, name: true, tags: true },
    });
  }

  /** Lists the known tools of an agent. `by` is the principal who asks, because listings of MCP servers may be personal. */
  async function listTools(agent: Partial<Agent>, by: string): Promise<{ tools: AgentTool[]; unlisted_sources: string[] }> {
    const { custom_tool_ids = [], builtin_tools = [], tool_definitions = [], mcp_server_tags = [] } = agent;
    const { mcp_server_ids = [], required_mcp_servers = [] } = agent;
    const servers = await listServers({ created_by: by, ...agent });
    const [custom, listings_by_server] = await Promise.all([
      prisma.customTool.findMany({ where: { id: { in: custom_tool_ids.filter(isUuid) } }, select: { id: true, name: true } }),
      listings.of(
        servers.map(({ id }) => id),
        by,
      ),
    ]);
    const tool = (kind: keyof typeof PREFIXES, own: string, id = own) => ({
      tool: toolIdentity(kind, id),
      own,
      prefix: PREFIXES[kind],
    });
    const tools: AgentTool[] = [
      ...builtin_tools.map((name) => tool('builtin', name)),
      ...custom.map(({ id, name }) => tool('custom', name, id)),
      ...tool_definitions.map((definition) =>
        isHosted(definition) ? tool('hosted', definition.name) : tool('definition', definition.function.name),
      ),
      ...servers.flatMap(({ id, name }) =>
        (listings_by_server.get(id)?.tools ?? []).map((one) => {
          return { tool: toolIdentity('mcp', id, one.name), own: one.name, prefix: modelName(name) };
        }),
      ),
    ];
    const missing_sources = [
      ...(custom_tool_ids.some((id) => !custom.some((one) => one.id === id)) ? ['a custom tool that is not here'] : []),
      ...([...mcp_server_ids, ...required_mcp_servers].some((id) => !servers.some((one) => one.id === id))
        ? ['an MCP server that is not here']
        : []),
    ];
    const unmatched_tags = mcp_server_tags.filter((tag) => !servers.some(({ tags }) => tags.includes(tag)));
    const unlisted_sources = [
      ...servers.filter(({ id }) => !listings_by_server.has(id)).map(({ name }) => `the MCP server ${name}`),
      ...unmatched_tags.map((tag) => `MCP servers with the tag ${tag}`),
      ...missing_sources,
    ];
    return { tools, unlisted_sources };
  }

  /** Pins the names of `approval_tools` to the tools that they fit. */
  async function judgeGuards(agent: Partial<StoredAgent>, by: string): Promise<JudgedGuards> {
    const { approval_tools = [], approval_guards = [] } = agent;
    if (approval_tools.length === 0)
      return { guards: [], unmatched_names: [], new_unmatched_names: [], tool_names: [], unlisted_sources: [] };
    const { tools, unlisted_sources } = await listTools(agent, by);
    const tool_names = resolveTools(listGuardedTools(approval_guards), await presentNames(approval_guards));
    const pinned_guards = pinGuards(approval_tools, { before: approval_guards, tools, tools_by_identity: tool_names });
    return { ...pinned_guards, tool_names: [...new Set(tools.map(({ own }) => own))], unlisted_sources };
  }

  const getGuardNames = (guards: readonly ApprovalGuard[]) => [...new Set(guards.map(({ name }) => name))];
  const one = async (agent: StoredAgent): Promise<StoredAgent> => (await withPresentNames([agent]))[0] as StoredAgent;

  /**
   * Returns the values to write for a change. A change without `approval_tools` leaves the listed names as they are, so that it
   * cannot undo a concurrent one: a name without a pin is still a guard.
   */
  async function withPinnedGuards(
    values: Partial<StoredAgent>,
    before: StoredAgent | null,
    by: string | undefined,
  ): Promise<object> {
    if (!DECIDING.some((field) => field in values)) return values;
    const whole = { ...before, ...values };
    const { guards } = await judgeGuards(whole, by ?? whole.created_by!);
    const names = values.approval_tools ? { approval_tools: getGuardNames(guards) } : {};
    return { ...values, ...names, approval_guards: guards };
  }

  async function find(id: string): Promise<StoredAgent | null> {
    const agent = await table.find(id);
    return agent && one(agent);
  }

  const agent_resource: Resource<StoredAgent> = {
    ...table,
    find,
    async list(filter, where) {
      const page = await table.list(filter, where);
      return { ...page, items: await withPresentNames(page.items) };
    },
    create: async (values, by) => one(await table.create(await withPinnedGuards(values, null, by))),
    update: async (id, values, by) => one(await table.update(id, await withPinnedGuards(values, await find(id), by))),
  };
  return {
    ...agent_resource,
    shown: withPresentNames,
    toShownRows: (rows: readonly object[]) => withPresentNames(rows as readonly StoredAgent[]),
    judgeGuards,
  };
}
