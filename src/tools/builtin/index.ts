import type { ToolSpec } from '../../domain/definition.ts';
import { toDoubles } from '../../domain/exact-json.ts';
import { toolIdentity } from '../../domain/tool-guards.ts';
import type { ToolCall, ToolOutcome, ToolSource } from '../source.ts';
import { type BashPorts, bash, bashSpec } from './bash.ts';
import { edit, editSpec } from './edit.ts';
import type { FilePorts } from './file-tool.ts';
import { glob, globSpec } from './glob.ts';
import { grep, grepSpec } from './grep.ts';
import { manageTodoList, todoListSpec } from './manage-todo-list.ts';
import { type MemoryPorts, searchMemory, searchSpec, storeMemory, storeSpec } from './memory.ts';
import { read, readSpec } from './read.ts';
import { type SearchKnowledge, searchKnowledge, searchKnowledgeSpec } from './search-knowledge.ts';
import { type WebPorts, webFetch, webFetchSpec } from './web-fetch.ts';
import { type SearchPorts, webSearch, webSearchSpec } from './web-search.ts';
import { write, writeSpec } from './write.ts';

export interface BuiltinPorts extends FilePorts, BashPorts, WebPorts, MemoryPorts {
  searchKnowledge: SearchKnowledge;
  /** Null if no search endpoint is configured: then there is no web_search. */
  search_url: string | null;
  /** Sends requests to the search endpoint: it is the operator's choice, so the egress guard is not asked. */
  searchFetch: typeof globalThis.fetch;
}

interface BuiltinTool {
  spec: ToolSpec;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

const builtinTools = (ports: BuiltinPorts): BuiltinTool[] => [
  { spec: bashSpec, call: bash(ports) },
  { spec: readSpec, call: read(ports) },
  { spec: writeSpec, call: write(ports) },
  { spec: editSpec, call: edit(ports) },
  { spec: globSpec, call: glob(ports) },
  { spec: grepSpec, call: grep(ports) },
  { spec: webFetchSpec, call: webFetch(ports) },
  ...(ports.search_url ? [searchTool({ search_url: ports.search_url, fetch: ports.searchFetch })] : []),
  { spec: todoListSpec, call: manageTodoList },
  { spec: storeSpec, call: storeMemory(ports) },
  { spec: searchSpec, call: searchMemory(ports) },
  { spec: searchKnowledgeSpec, call: searchKnowledge(ports.searchKnowledge) },
];

const searchTool = (ports: SearchPorts): BuiltinTool => ({ spec: webSearchSpec, call: webSearch(ports) });

/** Lists the built-in tools; web_search only if it is configured. */
export const builtinSpecs = ({ web_search: search = true }: { web_search?: boolean } = {}): ToolSpec[] => [
  bashSpec,
  readSpec,
  writeSpec,
  editSpec,
  globSpec,
  grepSpec,
  webFetchSpec,
  ...(search ? [webSearchSpec] : []),
  todoListSpec,
  storeSpec,
  searchSpec,
  searchKnowledgeSpec,
];

/** Creates the built-in tools that an agent names. */
export function createBuiltinTools(ports: BuiltinPorts, names: readonly string[]): ToolSource {
  const tools = names.length === 0 ? [] : builtinTools(ports).filter(({ spec }) => names.includes(spec.name));
  return {
    list: async () => tools.map(({ spec }) => ({ ...spec, identity: toolIdentity('builtin', spec.name) })),
    async call(call, signal) {
      const tool = tools.find(({ spec }) => spec.name === call.name);
      return tool
        ? tool.call({ ...call, arguments: toDoubles(call.arguments) }, signal)
        : { content: `There is no tool named ${call.name}`, failed: true };
    },
  };
}
