import { Alert, Anchor, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { keys, type RotatedServiceKey } from '../../../contracts/keys.ts';
import { useAct } from '../../api/queries.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { Facts } from '../../ui/show.tsx';
import { Failure } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import type { Stored } from '../resource.ts';

export function KeyPanel({ record }: { record: Stored }) {
  return (
    <Stack align="flex-start">
      <Facts
        of={{
          Key: record.hint,
          Owner: record.owner_login,
          Role: record.role,
          Scopes: (record.scopes as string[]).join(', '),
          Expires: <When at={record.expires_at} none="never" />,
          'Last used': <When at={record.last_used_at} none="never" />,
          Rotated: <When at={record.rotated_at} none="never" />,
          'Previous key ends': <When at={record.previous_valid_until} none="ended" />,
        }}
      />
      <DialogButton label="Rotate" title="Rotate the service key" needs={keys.rotate.access}>
        <Rotate id={record.id} />
      </DialogButton>
    </Stack>
  );
}

const GRACES = [
  { value: '0', label: 'ends at once' },
  { value: '3600', label: 'works for another hour' },
  { value: '86400', label: 'works for another day' },
  { value: '604800', label: 'works for another week' },
];

export function Rotate({ id }: { id: string }) {
  const act = useAct(keys.rotate);
  const [grace, setGrace] = useState('0');
  if (act.data) return <Rotated of={act.data} />;
  const rotate = () => act.mutate({ params: { id }, body: { grace_seconds: Number(grace) } });
  return (
    <Stack>
      <Text>
        A new key replaces the present one. Keys made with it end when it does, and scheduled agents that were saved with it need
        to be saved again.
      </Text>
      <NativeSelect
        label="The present key"
        value={grace}
        onChange={(event) => setGrace(event.currentTarget.value)}
        data={GRACES}
      />
      <Failure problem={act.error} />
      <Group justify="flex-end">
        <Button loading={act.isPending} data-needs={act.needs} onClick={rotate}>
          Rotate
        </Button>
      </Group>
    </Stack>
  );
}

function Rotated({ of: { key, ending_keys } }: { of: RotatedServiceKey }) {
  return (
    <Stack>
      <NewKey of={key} />
      {ending_keys.length > 0 && (
        <Text>Keys made with the replaced one end with it: {ending_keys.map(({ name }) => name).join(', ')}.</Text>
      )}
    </Stack>
  );
}

export function MadeKey({ record }: { record: Stored }) {
  return (
    <Stack align="flex-start">
      <NewKey of={record.key} />
      <Anchor component={Link} to={`/keys/${record.id}`}>
        Show its role, scopes and use
      </Anchor>
    </Stack>
  );
}

function NewKey({ of }: { of: string }) {
  return (
    <Alert color="yellow" variant="outline" title="Copy the key now">
      <Stack gap="xs">
        <Text>It is shown only this once. Send it as bearer token.</Text>
        <CopyableId what="the key">{of}</CopyableId>
      </Stack>
    </Alert>
  );
}
