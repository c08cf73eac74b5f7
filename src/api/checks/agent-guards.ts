import type { Warning } from '../../contracts/common.ts';
import type { FieldError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { StoredAgent } from '../../store/resources/agents.ts';
import { findNearest } from '../http/fields.ts';

type Guarding = Pick<Store, 'agents'>;

const MOST_NAMES = 20;

/** Returns an error for each name that was added to `approval_tools` and matches none of the agent's tools. */
export async function listGuardErrors({ agents }: Guarding, agent: Partial<StoredAgent>, by: string): Promise<FieldError[]> {
  const { new_unmatched_names, tool_names, unlisted_sources } = await agents.judgeGuards(agent, by);
  if (unlisted_sources.length > 0) return [];
  return new_unmatched_names.map((name) => ({
    path: `approval_tools.${agent.approval_tools?.indexOf(name)}`,
    message: `No tool of this agent is named \`${name}\`${formatHint(name, tool_names)}`,
  }));
}

function formatHint(name: string, tool_names: string[]): string {
  const near = findNearest(name, tool_names);
  if (near) return `; did you mean \`${near.name}\`?`;
  if (tool_names.length === 0) return '; it has no tools';
  const more = tool_names.length > MOST_NAMES ? ` and ${tool_names.length - MOST_NAMES} others` : '';
  return `; its tools are ${tool_names.slice(0, MOST_NAMES).join(', ')}${more}`;
}

/** Returns a warning for each name that guards none of the agent's currently known tools. */
export async function listGuardWarnings({ agents }: Guarding, agent: Partial<StoredAgent>, by: string): Promise<Warning[]> {
  const { unmatched_names, unlisted_sources } = await agents.judgeGuards(agent, by);
  const because =
    unlisted_sources.length > 0
      ? `the tools of ${unlisted_sources.join(', ')} are not known yet. It guards every tool of that name; list the tools of the server and save the agent again to keep the guard when the tool is renamed`
      : 'no tool of this agent has that name at present. It guards every tool of that name';
  return unmatched_names.map((name) => ({ path: 'approval_tools', message: `\`${name}\` is not resolved: ${because}` }));
}
