import { Button, Group, Text } from '@mantine/core';
import type { McpServer } from '../../../contracts/mcps.ts';
import { mcps } from '../../../contracts/mcps.ts';
import { useClient } from '../../api/context.tsx';
import { useAct, useWork } from '../../api/queries.ts';
import { FailureBelow } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import type { Stored } from '../resource.ts';

/** The reader's own sign-in at a remote server. */
export function McpSignInLine({ record }: { record: Stored }) {
  const { call } = useClient();
  const params = { id: record.id };
  const begin = useAct(mcps.beginSignIn);
  const end = useWork(() => call(mcps.endSignIn, { params }), { needs: mcps.endSignIn.access ?? undefined });
  const sign_in = record.sign_in as McpServer['sign_in'];
  const leave = () => begin.mutate({ params }, { onSuccess: ({ authorization_url }) => location.assign(authorization_url) });
  return (
    <Group gap="xs">
      <Button variant="default" loading={begin.isPending} data-needs={begin.needs} onClick={leave}>
        {sign_in ? 'Sign in again' : 'Sign in'}
      </Button>
      {sign_in && (
        <Button variant="default" loading={end.isPending} data-needs={end.needs} onClick={() => end.mutate(undefined)}>
          Disconnect
        </Button>
      )}
      <Text size="sm" c="dimmed">
        {sign_in ? <SignedIn sign_in={sign_in} /> : 'For servers that take only people who signed in. Only your own runs use it.'}
      </Text>
      {begin.error && <FailureBelow problem={begin.error} />}
      {end.error && <FailureBelow problem={end.error} />}
    </Group>
  );
}

function SignedIn({ sign_in: { signed_in_at, expires_at, renews } }: { sign_in: NonNullable<McpServer['sign_in']> }) {
  return (
    <>
      You signed in on <When at={signed_in_at} />
      {expires_at && !renews && (
        <>
          , until <When at={expires_at} />
        </>
      )}
      {expires_at && renews && (
        <>
          ; the next renewal is due by <When at={expires_at} />
        </>
      )}
      .
    </>
  );
}
