import { Button, Group, Stack, Text } from '@mantine/core';
import { providers } from '../../../contracts/providers.ts';
import { useAct } from '../../api/queries.ts';
import { Facts, Status, When } from '../../ui/show.tsx';
import { Failure } from '../../ui/states.tsx';
import type { Stored } from '../resource.ts';

export function ProviderPanel({ record }: { record: Stored }) {
  const test = useAct(providers.test);
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate({ params: { id: record.id } })}>
          Test the provider
        </Button>
        {test.data && (
          <Status of={test.data.success ? 'done' : 'failed'}>
            {test.data.success ? `It answers, with ${test.data.models.length} models.` : (test.data.error ?? 'It failed.')}
          </Status>
        )}
      </Group>
      {test.data?.success && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {test.data.models.slice(0, 40).join(', ')}
        </Text>
      )}
      {test.error && <Failure problem={test.error} />}
    </Stack>
  );
}

export function TokenPanel({ record }: { record: Stored }) {
  return (
    <Facts
      of={{
        Fingerprint: <span className="mono">{record.fingerprint}</span>,
        'Used by': (record.used_by as string[]).join(', ') || 'nothing',
        Changed: <When at={record.updated_at} />,
      }}
    />
  );
}
