import type { AllowedMcpTool, Definition, OfferedTool, PinnedTool } from '../domain/definition.ts';
import { namesOfTool, PREFIXES, toolIdentity } from '../domain/tool-guards.ts';
import { freeToolName, modelName } from '../domain/tool-names.ts';
import type { FitArguments } from './arguments.ts';
import { type BuiltinPorts, createBuiltinTools } from './builtin/index.ts';
import { createMcpTools, type McpToolPorts } from './mcp/tools.ts';
import { createPythonTools, type PythonPorts } from './python.ts';
import type { SourceTool, ToolOutcome, ToolSource } from './source.ts';

export type ToolPorts = PythonPorts & BuiltinPorts & { mcp: McpToolPorts; fitArguments: FitArguments };

/** All tools of a run under the names the model sees. */
export interface Toolbox extends Pick<ToolSource, 'call'> {
  list(signal: AbortSignal): Promise<OfferedTool[]>;
  /** Returns a sentence for every renamed tool. */
  listRenamed(signal: AbortSignal): Promise<string[]>;
}

/** A source of tools, and the prefix that distinguishes its tools from others of the same name. */
interface PrefixedSource {
  prefix: string;
  source: ToolSource;
}

/** The tools that were found and pinned when the run began. */
export interface Toolset {
  mcp: AllowedMcpTool[];
}

interface ToolRules {
  custom_tools: boolean;
  /** The tools that were found when the run began; null if there was nothing to find. */
  toolset: Toolset | null;
}

/**
 * Creates the tools of a run. Sources are in order of precedence: of two tools with one name, the later carries its source's
 * prefix. A client knows its tools by name, so they come first.
 */
export function createAgentToolbox(
  { tools, mcp_servers = [] }: Pick<Definition, 'tools' | 'mcp_servers'>,
  ports: ToolPorts,
  { custom_tools, toolset }: ToolRules,
): Toolbox {
  const of = <K extends Definition['tools'][number]['kind']>(kind: K) =>
    tools.filter((tool): tool is Extract<Definition['tools'][number], { kind: K }> => tool.kind === kind);
  const names = of('builtin').map(({ name }) => name);
  const servers = mcp_servers.map((server) => {
    const listed_tools = (toolset?.mcp ?? []).filter(({ server_id }) => server_id === server.id);
    return { prefix: modelName(server.name), source: createMcpTools(ports.mcp, server, listed_tools) };
  });
  return createToolbox(
    [
      { prefix: PREFIXES.client, source: createDefinitionTools(of('client')) },
      { prefix: PREFIXES.builtin, source: createBuiltinTools(ports, names) },
      ...(custom_tools ? [{ prefix: PREFIXES.custom, source: createPythonTools(ports, of('custom')) }] : []),
      ...servers,
      { prefix: PREFIXES.definition, source: createDefinitionTools(of('definition')) },
    ],
    ports.fitArguments,
    of('hosted').map(({ name }) => name),
  );
}

interface ToolEntry {
  offered_tool: OfferedTool;
  source: ToolSource;
  source_tool: SourceTool;
  prefix: string;
}

/**
 * Combines all sources: resolves duplicate names, and converts arguments to the schema before a call. `reserved` holds names of
 * other tools.
 */
function createToolbox(shelves: PrefixedSource[], fitArguments: FitArguments, reserved: readonly string[] = []): Toolbox {
  async function index(signal: AbortSignal): Promise<Map<string, ToolEntry>> {
    const shelf_specs = await Promise.all(
      shelves.map(async ({ prefix, source }) => ({ prefix, source, specs: await source.list(signal) })),
    );
    const tools = new Map<string, ToolEntry>();
    const used_names = { has: (name: string) => reserved.includes(name) || tools.has(name) };
    for (const { prefix, source, specs } of shelf_specs) {
      for (const spec of specs) {
        const name = freeToolName(spec.name, prefix, used_names);
        const { identity, own_name = spec.name, ...shown } = spec;
        const origin = { tool: identity, names: namesOfTool({ own: own_name, prefix }) };
        tools.set(name, { offered_tool: { ...shown, name, origin }, source, source_tool: spec, prefix });
      }
    }
    return tools;
  }
  return {
    list: async (signal) => [...(await index(signal)).values()].map(({ offered_tool }) => offered_tool),
    async listRenamed(signal) {
      const renamed_tools = [...(await index(signal)).values()].filter(
        ({ offered_tool, source_tool }) => offered_tool.name !== source_tool.name,
      );
      return renamed_tools.map(
        ({ offered_tool, source_tool, prefix }) =>
          `The tool ${source_tool.name} of ${prefix} is called ${offered_tool.name}, as the name is taken`,
      );
    },
    async call(call, signal): Promise<ToolOutcome> {
      const tools = await index(signal);
      const tool = tools.get(call.name);
      if (!tool) {
        return {
          content: `There is no tool named ${call.name}. The tools are: ${[...tools.keys()].join(', ') || 'none'}.`,
          failed: true,
        };
      }
      const fit = await fitArguments(tool.offered_tool, call);
      if ('refusal' in fit) return { content: fit.refusal, failed: true };
      const { name, identity } = tool.source_tool;
      return tool.source.call({ ...call, name, identity, arguments: fit.arguments }, signal);
    },
  };
}

/**
 * Creates tools that are only definitions, which an agent or a client passes to the model. Nothing here executes them; a call
 * fails with that reason.
 */
function createDefinitionTools(specs: readonly Extract<PinnedTool, { kind: 'definition' | 'client' }>[]): ToolSource {
  return {
    list: async () =>
      specs.map(({ kind, name, description, parameters, effect }) => {
        return { name, description, parameters, effect, identity: toolIdentity(kind, name) };
      }),
    call: async ({ name }) => ({ content: `The tool ${name} is only defined here; nothing executes it`, failed: true }),
  };
}
