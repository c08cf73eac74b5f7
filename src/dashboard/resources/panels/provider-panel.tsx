import { Group, Stack } from '@mantine/core';
import { models } from '../../../contracts/models.ts';
import { providers } from '../../../contracts/providers.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { formatCount } from '../../ui/figures.ts';
import { Failure } from '../../ui/states.tsx';
import { ModelLines, ModelWindows } from '../model-windows.tsx';
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
          yes={({ models: names }) => `Connected: ${formatCount(names.length, 'model')}`}
        />
      </Group>
      {/* The endpoint is asked only when a person asks for it: each use of the provider's key is on record. */}
      {test.data?.success && <ProviderModels provider_id={record.id} names={test.data.models} />}
    </Stack>
  );
}

/** Lists the models of a provider: their names, which are known, and then their context windows. */
export function ProviderModels({ provider_id, names }: { provider_id: string; names: readonly string[] }) {
  const listed = useRead(models.list, { query: { provider_id } });
  if (listed.data) return <ModelWindows models={listed.data} />;
  return (
    <>
      <ModelLines lines={names} />
      <Failure problem={listed.error} retry={() => void listed.refetch()} />
    </>
  );
}
