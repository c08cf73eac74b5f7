import { Badge, Group, Text } from '@mantine/core';
import { useAgentTools } from '../agent-tools.ts';
import type { Stored } from '../resource.ts';

/** Lists the tools of an agent whose calls wait for a person. */
export function AskingTools({ record }: { record: Stored }) {
  const { tools } = useAgentTools(record);
  const effects = record.approve_effects as string[];
  const names = record.approval_tools as string[];
  const byEffect = tools.filter(({ effect = 'write' }) => effects.includes(effect)).map(({ name }) => name);
  const asking = [...new Set([...names, ...byEffect])];
  if (names.length + effects.length === 0) return <Text size="sm">No tool asks before it is called.</Text>;
  return (
    <Group gap="xs" role="group" aria-label="Tools that ask">
      <Text size="sm">Asks before it calls:</Text>
      {asking.map((name) => (
        <Badge key={name} variant="outline" color="gray" tt="none">
          {name}
        </Badge>
      ))}
      {effects.length > 0 && <Text size="sm">{`and every other tool with the effect ${effects.join(' or ')}`}</Text>}
    </Group>
  );
}
