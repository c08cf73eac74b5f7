import { TagsInput, type TagsInputProps } from '@mantine/core';
import { type KnownTool, useAgentTools } from './agent-tools.ts';
import type { Values } from './fields.ts';

interface GuardedToolsProps extends Omit<TagsInputProps, 'value' | 'onChange' | 'data'> {
  /** The agent's fields in the form's representation. */
  agent: Values;
  /** The name of the field that lists the tools. */
  name: string;
  onChange(value: string[]): void;
}

/** Returns the names that match no tool. A run can offer a tool under the name of its server and its own. */
const findUnresolved = (names: readonly string[], tools: readonly KnownTool[]) =>
  names.filter((name) => !tools.some((tool) => tool.name === name || name.endsWith(`_${tool.name}`)));

/** Chooses among the tools of the agent. Other names can be typed, for tools that a server has not listed yet. */
export function GuardedTools({ agent, onChange, description, ...rest }: GuardedToolsProps) {
  const value = agent[rest.name] as string[];
  const { tools, unlisted_servers } = useAgentTools(agent);
  const unresolved = findUnresolved(value, tools);
  const about = [
    description,
    unresolved.length > 0 && `Not among the tools that are known: ${unresolved.join(', ')}.`,
    unlisted_servers.length > 0 && `Not listed yet: the tools of ${unlisted_servers.join(', ')}.`,
  ];
  return (
    <TagsInput
      {...rest}
      description={about.filter(Boolean).join(' ')}
      data={[...new Set(tools.map(({ name }) => name))]}
      value={value}
      onChange={onChange}
      acceptValueOnBlur
      clearable
    />
  );
}
