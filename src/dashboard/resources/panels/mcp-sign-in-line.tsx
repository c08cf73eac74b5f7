import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { McpSignInBegun } from '../../../contracts/mcp-sign-ins.ts';
import { type McpServer, mcps } from '../../../contracts/mcps.ts';
import { useClient } from '../../api/context.tsx';
import { useAct, useWork } from '../../api/queries.ts';
import { Facts } from '../../ui/show.tsx';
import { FailureBelow } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import { GuardedDialog } from '../../ui/unsaved.tsx';
import type { Stored } from '../resource.ts';

/** The viewer's own sign-in at a remote server. */
export function McpSignInLine({ record }: { record: Stored }) {
  const { call } = useClient();
  const params = { id: record.id };
  const begin = useAct(mcps.beginSignIn);
  const end = useWork(() => call(mcps.endSignIn, { params }), { needs: mcps.endSignIn.access });
  const sign_in = record.sign_in as McpServer['sign_in'];
  const [asked, ask] = useState<McpSignInBegun | null>(null);
  const leave = () =>
    begin.mutate({ params }, { onSuccess: (redirect) => (staysAtServer(redirect) ? open(redirect) : ask(redirect)) });
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
      <GuardedDialog opened={asked !== null} onClose={() => ask(null)} title="You are about to leave for another server">
        {asked && <Elsewhere of={asked} />}
      </GuardedDialog>
      <FailureBelow problem={begin.error} />
      <FailureBelow problem={end.error} />
    </Group>
  );
}

const open = ({ authorization_url }: McpSignInBegun) => location.assign(authorization_url);

const staysAtServer = ({ origins: { server, authorization, token } }: McpSignInBegun) =>
  new Set([server, authorization, token]).size === 1;

/**
 * Names the hosts of a sign-in. An attacker's server could send people to a server that they trust, and receive what they allow
 * there.
 */
function Elsewhere({ of }: { of: McpSignInBegun }) {
  const { server, authorization, token } = of.origins;
  return (
    <Stack>
      <Text>Check that these addresses belong together before you allow anything:</Text>
      <Facts of={{ 'MCP server': server, 'You sign in at': authorization, 'What you allow goes to': token }} />
      <Text size="sm" c="dimmed">
        The operators of these addresses can use the account that you sign in with. If you do not know one of them, close this
        dialog.
      </Text>
      <Group justify="flex-end">
        <Button onClick={() => open(of)}>Continue to {new URL(authorization).host}</Button>
      </Group>
    </Stack>
  );
}

function SignedIn({ sign_in: { signed_in_at, expires_at, renews } }: { sign_in: NonNullable<McpServer['sign_in']> }) {
  return (
    <>
      You signed in on <When at={signed_in_at} exact />
      {expires_at && !renews && (
        <>
          , until <When at={expires_at} exact />
        </>
      )}
      {expires_at && renews && (
        <>
          ; the next renewal is due by <When at={expires_at} exact />
        </>
      )}
      .
    </>
  );
}
