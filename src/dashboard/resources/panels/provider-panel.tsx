import { Group, Stack, Text } from '@mantine/core';
import { providers } from '../../../contracts/providers.ts';
import { useAct } from '../../api/queries.ts';
import { formatCount } from '../../ui/figures.ts';
import type { Stored } from '../resource.ts';
import { TestButton } from './test-button.tsx';

export function ProviderPanel({ record }: { record: Stored }) {
  const test = useAct(providers.test);
  return (
    <Stack gap="xs">
      <Group>
        <TestButton
          test={test}
          id={record.id}
          label="Test the provider"
          yes={({ models }) => `Connected: ${formatCount(models.length, 'model')}`}
        />
      </Group>
      {test.data?.success && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {test.data.models.slice(0, 40).join(', ')}
        </Text>
      )}
    </Stack>
  );
}
