import type { Definition, ToolSpec } from '../domain/definition.ts';
import { type BuiltinPorts, builtins } from './builtin/index.ts';
import { definedTools } from './definitions.ts';
import { type PythonPorts, pythonTools } from './python.ts';
import type { ToolOutcome, ToolSource } from './source.ts';

export type ToolPorts = PythonPorts & BuiltinPorts;

/** All tools of a run under the names the model sees. */
export interface Toolbox extends ToolSource {
  list(signal: AbortSignal): Promise<ToolSpec[]>;
}

/** A tool's own name, and the prefix that tells it apart from another of the same name. */
interface Shelf {
  prefix: string;
  source: ToolSource;
}

/** The tools of a run. Sources come in order of precedence: of two tools with one name, the later carries its source's prefix. */
export function toolsFor(
  definition: Pick<Definition, 'tools'>,
  ports: ToolPorts,
  { custom_tools }: { custom_tools: boolean },
): Toolbox {
  const of = <K extends Definition['tools'][number]['kind']>(kind: K) =>
    definition.tools.filter((tool): tool is Extract<Definition['tools'][number], { kind: K }> => tool.kind === kind);
  return toolbox([
    {
      prefix: 'builtin',
      source: builtins(
        ports,
        of('builtin').map(({ name }) => name),
      ),
    },
    ...(custom_tools ? [{ prefix: 'custom', source: pythonTools(ports, of('custom')) }] : []),
    { prefix: 'defined', source: definedTools(of('definition')) },
  ]);
}

export function toolbox(shelves: Shelf[]): Toolbox {
  async function index(signal: AbortSignal) {
    const listed = await Promise.all(
      shelves.map(async ({ prefix, source }) => ({ prefix, source, specs: await source.list(signal) })),
    );
    const tools = new Map<string, { spec: ToolSpec; source: ToolSource; name: string }>();
    for (const { prefix, source, specs } of listed) {
      for (const spec of specs) {
        const shown = tools.has(spec.name) ? `${prefix}_${spec.name}` : spec.name;
        if (!tools.has(shown)) tools.set(shown, { spec: { ...spec, name: shown }, source, name: spec.name });
      }
    }
    return tools;
  }
  return {
    list: async (signal) => [...(await index(signal)).values()].map(({ spec }) => spec),
    async call(call, signal): Promise<ToolOutcome> {
      const tools = await index(signal);
      const tool = tools.get(call.name);
      if (!tool) {
        return {
          content: `There is no tool named ${call.name}. The tools are: ${[...tools.keys()].join(', ') || 'none'}.`,
          failed: true,
        };
      }
      return tool.source.call({ ...call, name: tool.name }, signal);
    },
  };
}
