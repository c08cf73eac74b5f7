import type { ToolSpec } from '../../domain/definition.ts';
import { toDoubles } from '../../domain/exact-json.ts';
import { toolIdentity } from '../../domain/tool-guards.ts';
import type { ToolSource } from '../source.ts';
import { type BashPorts, bashTool } from './bash.ts';
import { editTool } from './edit.ts';
import type { FilePorts } from './file-tool.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import { todoListTool } from './manage-todo-list.ts';
import { type MemoryPorts, searchMemoryTool, storeMemoryTool } from './memory.ts';
import { readTool } from './read.ts';
import { type KnowledgePorts, searchKnowledgeTool } from './search-knowledge.ts';
import type { Builtin, BuiltinSettings } from './tool.ts';
import { type WebPorts, webFetchTool } from './web-fetch.ts';
import { type SearchPorts, webSearchTool } from './web-search.ts';
import { writeTool } from './write.ts';

export interface BuiltinPorts extends FilePorts, BashPorts, WebPorts, SearchPorts, MemoryPorts, KnowledgePorts {}

/** All built-in tools, in the order in which models and people see them. */
export const BUILTIN_TOOLS: readonly Builtin<BuiltinPorts>[] = [
  bashTool,
  readTool,
  writeTool,
  editTool,
  globTool,
  grepTool,
  webFetchTool,
  webSearchTool,
  todoListTool,
  storeMemoryTool,
  searchMemoryTool,
  searchKnowledgeTool,
];

const BY_NAME = new Map(BUILTIN_TOOLS.map((tool) => [tool.spec.name, tool]));

export const findBuiltin = (name: string): Builtin<BuiltinPorts> | undefined => BY_NAME.get(name);

/** Lists the built-in tools; with settings, only those that such an installation offers. */
export const builtinSpecs = (settings?: BuiltinSettings): ToolSpec[] =>
  BUILTIN_TOOLS.filter((tool) => !settings || isOffered(tool, settings)).map(({ spec }) => spec);

const isOffered = ({ isConfigured }: Builtin<BuiltinPorts>, settings: BuiltinSettings) => isConfigured?.(settings) ?? true;

/** Creates the built-in tools that an agent names. */
export function createBuiltinTools(ports: BuiltinPorts, names: readonly string[]): ToolSource {
  const offered = BUILTIN_TOOLS.filter((tool) => names.includes(tool.spec.name) && isOffered(tool, ports));
  const tools = offered.map(({ spec, create }) => ({ spec, call: create(ports) }));
  return {
    list: async () => tools.map(({ spec }) => ({ ...spec, identity: toolIdentity('builtin', spec.name) })),
    async call(call, signal) {
      const tool = tools.find(({ spec }) => spec.name === call.name)!;
      return tool.call({ ...call, arguments: toDoubles(call.arguments) }, signal);
    },
  };
}
