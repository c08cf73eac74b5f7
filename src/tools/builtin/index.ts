import type { ToolSpec } from '../../domain/definition.ts';
import type { ToolCall, ToolOutcome, ToolSource } from '../source.ts';
import * as manage_todo_list from './manage-todo-list.ts';
import * as memory from './memory.ts';
import * as search_knowledge from './search-knowledge.ts';

export interface BuiltinPorts extends memory.MemoryPorts {
  searchKnowledge: search_knowledge.SearchKnowledge;
  saveTodos: manage_todo_list.SaveTodos;
}

interface BuiltinTool {
  spec: ToolSpec;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

const builtinTools = (ports: BuiltinPorts): BuiltinTool[] => [
  { spec: manage_todo_list.spec, call: manage_todo_list.manageTodoList(ports.saveTodos) },
  { spec: memory.storeSpec, call: memory.storeMemory(ports) },
  { spec: memory.searchSpec, call: memory.searchMemory(ports) },
  { spec: search_knowledge.spec, call: search_knowledge.searchKnowledge(ports.searchKnowledge) },
];

/** What there is to choose from. */
export const builtinSpecs = (): ToolSpec[] => [manage_todo_list.spec, memory.storeSpec, memory.searchSpec, search_knowledge.spec];

/** The tools that come with Perdura, as far as an agent names them. */
export function builtins(ports: BuiltinPorts, names: readonly string[]): ToolSource {
  const tools = builtinTools(ports).filter(({ spec }) => names.includes(spec.name));
  return {
    list: async () => tools.map(({ spec }) => spec),
    async call(call, signal) {
      const tool = tools.find(({ spec }) => spec.name === call.name);
      return tool ? tool.call(call, signal) : { content: `There is no tool named ${call.name}`, failed: true };
    },
  };
}
