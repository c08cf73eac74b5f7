import { builtinTools } from '../../contracts/builtin-tools.ts';
import { customTools } from '../../contracts/custom-tools.ts';
import { mcps } from '../../contracts/mcps.ts';
import { useRead, useReads } from '../api/queries.ts';
import type { Values } from './fields.ts';

/** A tool that an agent can use, under its own name. */
export interface KnownTool {
  name: string;
  /** The effect; undefined: not known, which counts as a write. */
  effect: string | undefined;
  /** The source of the tool, for people. */
  source: string;
}

const MOST = 1_000;
const toList = (value: unknown) => value as string[];

/** Returns the known tools of an agent. Those of its MCP servers are the ones that they listed last. */
export function useAgentTools(agent: Values): { tools: KnownTool[]; unlisted_servers: string[] } {
  const builtin = useRead(builtinTools.list);
  const custom = useRead(customTools.list, { query: { limit: MOST } });
  const all = useRead(mcps.list, { query: { limit: MOST } });
  const ids = [...toList(agent.mcp_server_ids), ...toList(agent.required_mcp_servers)];
  const tags = toList(agent.mcp_server_tags);
  const servers = (all.data?.items ?? []).filter(
    ({ id, tags: own }) => ids.includes(id) || own.some((tag) => tags.includes(tag)),
  );
  const listings = useReads(
    mcps.tools,
    servers.map(({ id }) => ({ params: { id } })),
  );
  const findBuiltin = (name: string) => builtin.data?.find((tool) => tool.name === name);
  const tools = [
    ...toList(agent.builtin_tools).map((name) => ({ name, effect: findBuiltin(name)?.effect, source: 'built-in' })),
    ...(custom.data?.items ?? [])
      .filter(({ id }) => toList(agent.custom_tool_ids).includes(id))
      .map(({ name, effect }) => ({ name, effect, source: 'custom tool' })),
    ...servers.flatMap((server, at) =>
      (listings[at]?.data?.tools ?? []).map(({ name, effect }) => ({ name, effect, source: server.name })),
    ),
    ...parseDefinitionNames(agent.tool_definitions).map((name) => ({ name, effect: 'read', source: 'tool definition' })),
  ];
  const unlisted_servers = servers.filter((_, at) => !listings[at]?.data?.listed_at).map(({ name }) => name);
  return { tools, unlisted_servers };
}

/** Parses the names of tool definitions, which a form holds as JSON. */
function parseDefinitionNames(value: unknown): string[] {
  try {
    const definitions: unknown = typeof value === 'string' ? JSON.parse(value || '[]') : value;
    if (!Array.isArray(definitions)) return [];
    return definitions.flatMap((one) => {
      const name: unknown = one?.function?.name;
      return typeof name === 'string' ? [name] : [];
    });
  } catch {
    return [];
  }
}
