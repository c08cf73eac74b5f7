import type { ToolSpec } from '../../domain/definition.ts';
import type { ToolCall, ToolOutcome, ToolSource } from '../source.ts';
import * as bash from './bash.ts';
import * as edit from './edit.ts';
import type { FilePorts } from './file-tool.ts';
import * as glob from './glob.ts';
import * as grep from './grep.ts';
import * as manage_todo_list from './manage-todo-list.ts';
import * as memory from './memory.ts';
import * as read from './read.ts';
import * as search_knowledge from './search-knowledge.ts';
import * as web_fetch from './web-fetch.ts';
import * as web_search from './web-search.ts';
import * as write from './write.ts';

export interface BuiltinPorts extends FilePorts, bash.BashPorts, web_fetch.WebPorts, memory.MemoryPorts {
  searchKnowledge: search_knowledge.SearchKnowledge;
  saveTodos: manage_todo_list.SaveTodos;
  /** Null where no search endpoint is configured: there is no web_search then. */
  search_url: string | null;
}

interface BuiltinTool {
  spec: ToolSpec;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

const builtinTools = (ports: BuiltinPorts): BuiltinTool[] => [
  { spec: bash.spec, call: bash.bash(ports) },
  { spec: read.spec, call: read.read(ports) },
  { spec: write.spec, call: write.write(ports) },
  { spec: edit.spec, call: edit.edit(ports) },
  { spec: glob.spec, call: glob.glob(ports) },
  { spec: grep.spec, call: grep.grep(ports) },
  { spec: web_fetch.spec, call: web_fetch.webFetch(ports) },
  ...(ports.search_url ? [searchTool(ports.search_url)] : []),
  { spec: manage_todo_list.spec, call: manage_todo_list.manageTodoList(ports.saveTodos) },
  { spec: memory.storeSpec, call: memory.storeMemory(ports) },
  { spec: memory.searchSpec, call: memory.searchMemory(ports) },
  { spec: search_knowledge.spec, call: search_knowledge.searchKnowledge(ports.searchKnowledge) },
];

// The endpoint is the operator's choice, so the egress guard is not asked.
const searchTool = (search_url: string): BuiltinTool => ({
  spec: web_search.spec,
  call: web_search.webSearch({ search_url, fetch: globalThis.fetch }),
});

/** What there is to choose from; web_search only where it is configured. */
export const builtinSpecs = ({ web_search: search = true }: { web_search?: boolean } = {}): ToolSpec[] => [
  bash.spec,
  read.spec,
  write.spec,
  edit.spec,
  glob.spec,
  grep.spec,
  web_fetch.spec,
  ...(search ? [web_search.spec] : []),
  manage_todo_list.spec,
  memory.storeSpec,
  memory.searchSpec,
  search_knowledge.spec,
];

/** The tools that come with Perdura, as far as an agent names them. */
export function builtins(ports: BuiltinPorts, names: readonly string[]): ToolSource {
  const tools = names.length === 0 ? [] : builtinTools(ports).filter(({ spec }) => names.includes(spec.name));
  return {
    list: async () => tools.map(({ spec }) => spec),
    async call(call, signal) {
      const tool = tools.find(({ spec }) => spec.name === call.name);
      return tool ? tool.call(call, signal) : { content: `There is no tool named ${call.name}`, failed: true };
    },
  };
}
