import type { ToolSpec } from '../../domain/definition.ts';
import type { MemoryTool } from '../../domain/memory.ts';
import type { ToolCall, ToolOutcome } from '../source.ts';

/** What an installation offers decides which built-in tools there are. */
export interface BuiltinSettings {
  /** The address of the search endpoint; null if none is configured. */
  search_url: string | null;
}

/**
 * A built-in tool. Everything that Perdura knows about it is declared here, in its own file, and nothing elsewhere lists tools by
 * name: to be offered, it needs one line in `BUILTIN_TOOLS`.
 */
export type Builtin<Ports = object> = WorksOn & {
  /** True if Anthropic's agent sessions have a tool of this name with the same arguments: it then runs there. */
  at_vendor: boolean;
  /** False: this installation does not offer it. Absent: every installation does. */
  isConfigured?(settings: BuiltinSettings): boolean;
  create(ports: Ports): (call: ToolCall, signal: AbortSignal) => Promise<ToolOutcome>;
};

/**
 * What a tool can read and, unless its effect is `read`, change. Tools on the workspace all run in one place, here or at the
 * vendor. Runs that bypass memory have no tools on memory.
 */
type WorksOn =
  | { works_on: 'workspace' | 'web' | 'knowledge' | 'nothing'; spec: ToolSpec }
  | { works_on: 'memory'; spec: ToolSpec & { name: MemoryTool } };
