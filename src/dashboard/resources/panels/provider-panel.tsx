import { Group, Stack } from '@mantine/core';
import { models } from '../../../contracts/models.ts';
import { providers } from '../../../contracts/providers.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { formatCount } from '../../ui/figures.ts';
import { ModelWindows } from '../model-windows.tsx';
import type { Stored } from '../resource.ts';
import { TestButton } from './test-button.tsx';

export function ProviderPanel({ record }: { record: Stored }) {
  const test = useAct(providers.test);
  // The endpoint is asked only when a person asks for it: each use of the provider's key is on record.
  const input = { query: { provider_id: record.id } };
  const listed = useRead(models.list, input, { enabled: test.data?.success === true });
  return (
    <Stack gap="xs">
      <Group>
        <TestButton
          test={test}
          id={record.id}
          label="Test the provider"
          yes={({ models: names }) => `Connected: ${formatCount(names.length, 'model')}`}
        />
      </Group>
      {test.data?.success && <ModelWindows models={listed.data ?? test.data.models.map((id) => ({ id }))} />}
    </Stack>
  );
}
