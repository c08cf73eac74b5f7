import type { AllowedMcpTool, Definition, ToolSpec } from '../domain/definition.ts';
import type { FitArguments } from './arguments.ts';
import { type BuiltinPorts, builtins } from './builtin/index.ts';
import { definedTools } from './definitions.ts';
import { modelName } from './mcp/listing.ts';
import { type McpToolPorts, mcpTools } from './mcp/tools.ts';
import { type PythonPorts, pythonTools } from './python.ts';
import type { ToolOutcome, ToolSource } from './source.ts';

export type ToolPorts = PythonPorts & BuiltinPorts & { mcp: McpToolPorts; fitArguments: FitArguments };

/** All tools of a run under the names the model sees. */
export interface Toolbox extends ToolSource {
  list(signal: AbortSignal): Promise<ToolSpec[]>;
  /** A sentence for every renamed tool. */
  renamed(signal: AbortSignal): Promise<string[]>;
}

/** A tool's own name, and the prefix that distinguishes it from another tool of that name. */
interface Shelf {
  prefix: string;
  source: ToolSource;
}

/** The tools found and pinned when the run began. */
export interface Toolset {
  mcp: AllowedMcpTool[];
}

interface ToolRules {
  custom_tools: boolean;
  /** Null if there was nothing to find. */
  toolset: Toolset | null;
}

/** The tools of a run. Sources come in order of precedence: of two tools with one name, the later carries its source's prefix. */
export function toolsFor(
  { tools, mcp_servers = [] }: Pick<Definition, 'tools' | 'mcp_servers'>,
  ports: ToolPorts,
  { custom_tools, toolset }: ToolRules,
): Toolbox {
  const of = <K extends Definition['tools'][number]['kind']>(kind: K) =>
    tools.filter((tool): tool is Extract<Definition['tools'][number], { kind: K }> => tool.kind === kind);
  const names = of('builtin').map(({ name }) => name);
  const servers = mcp_servers.map((server) => {
    const found = (toolset?.mcp ?? []).filter(({ server_id }) => server_id === server.id);
    return { prefix: modelName(server.name), source: mcpTools(ports.mcp, server, found) };
  });
  return toolbox(
    [
      { prefix: 'builtin', source: builtins(ports, names) },
      ...(custom_tools ? [{ prefix: 'custom', source: pythonTools(ports, of('custom')) }] : []),
      ...servers,
      { prefix: 'defined', source: definedTools(of('definition')) },
      { prefix: 'client', source: definedTools(of('client')) },
    ],
    ports.fitArguments,
  );
}

interface Placed {
  spec: ToolSpec;
  source: ToolSource;
  name: string;
  prefix: string;
}

/** All sources as one: resolves duplicate names, and converts arguments to the schema before a call. */
export function toolbox(shelves: Shelf[], fitArguments: FitArguments): Toolbox {
  async function index(signal: AbortSignal): Promise<Map<string, Placed>> {
    const listed = await Promise.all(
      shelves.map(async ({ prefix, source }) => ({ prefix, source, specs: await source.list(signal) })),
    );
    const tools = new Map<string, Placed>();
    for (const { prefix, source, specs } of listed) {
      for (const spec of specs) {
        const shownName = freeName(spec.name, prefix, tools);
        tools.set(shownName, { spec: { ...spec, name: shownName }, source, name: spec.name, prefix });
      }
    }
    return tools;
  }
  return {
    list: async (signal) => [...(await index(signal)).values()].map(({ spec }) => spec),
    async renamed(signal) {
      const moved = [...(await index(signal)).values()].filter(({ spec, name }) => spec.name !== name);
      return moved.map(({ spec, name, prefix }) => `The tool ${name} of ${prefix} is called ${spec.name}, as the name is taken`);
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
      const fitted = await fitArguments(tool.spec, call);
      if ('refusal' in fitted) return { content: fitted.refusal, failed: true };
      return tool.source.call({ ...call, name: tool.name, arguments: fitted.arguments }, signal);
    },
  };
}

const NAME_CHARACTERS = 64;

/** The name itself, else with its source's prefix, else with a number; always unused. */
function freeName(name: string, prefix: string, taken: Map<string, unknown>): string {
  if (!taken.has(name)) return name;
  const base = `${prefix}_${name}`.slice(0, NAME_CHARACTERS);
  for (let shownName = base, number = 2; ; number += 1) {
    if (!taken.has(shownName)) return shownName;
    shownName = `${base.slice(0, NAME_CHARACTERS - 4)}_${number}`;
  }
}
