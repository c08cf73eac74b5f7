import { Button, Group, Stack, Text } from '@mantine/core';
import { type TokenGrant, tokens } from '../../../contracts/tokens.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { Section } from '../../ui/page.tsx';
import { Facts, Status } from '../../ui/show.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import type { Stored } from '../resource.ts';

export function TokenPanel({ record }: { record: Stored }) {
  return (
    <Stack>
      <Facts
        of={{
          Fingerprint: <CopyableId what="the fingerprint">{record.fingerprint}</CopyableId>,
          'Used by': (record.used_by as string[]).join(', ') || 'nothing',
          Changed: <When at={record.updated_at} />,
        }}
      />
      <Grants id={record.id} />
      <Uses id={record.id} />
    </Stack>
  );
}

const TONES = { granted: 'good', asked: 'wait', outdated: 'quiet' } as const;

/** Lists the destinations that the token is granted to, and those that request it. */
function Grants({ id }: { id: string }) {
  const query = useRead(tokens.grants, { params: { id } });
  return (
    <Section title="Grants">
      <Loaded query={query} what="Loading the grants">
        {(grants) =>
          grants.length === 0 ? (
            <Empty>No resource refers to this token.</Empty>
          ) : (
            <Stack gap={6} className="panel">
              {grants.map((grant) => (
                <Grant key={`${grant.resource_id} ${grant.destination}`} id={id} grant={grant} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Section>
  );
}

function Grant({ id, grant }: { id: string; grant: TokenGrant }) {
  const give = useAct(tokens.grant);
  const revoke = useAct(tokens.revoke);
  const { resource_type, resource_id, destination, status } = grant;
  const about = `${resource_type.replaceAll('_', ' ')} ${grant.resource_name}`;
  return (
    <>
      <Group justify="space-between">
        <Text>
          <Status of={status} tone={TONES[status]} /> {about}: {grant.destination_label}{' '}
          <span className="mono">{destination.slice(0, 8)}</span>
        </Text>
        {grant.id ? (
          <Button
            variant="default"
            aria-label={`Revoke from the ${about}`}
            loading={revoke.isPending}
            data-needs={revoke.needs}
            onClick={() => revoke.mutate({ params: { id, grant_id: grant.id as string } })}
          >
            Revoke
          </Button>
        ) : (
          <Button
            aria-label={`Grant to the ${about}`}
            loading={give.isPending}
            data-needs={give.needs}
            onClick={() => give.mutate({ params: { id }, body: { resource_type, resource_id, destination } })}
          >
            Grant
          </Button>
        )}
      </Group>
      <Failure problem={give.error ?? revoke.error} />
    </>
  );
}

const SHOWN = 20;

function Uses({ id }: { id: string }) {
  const query = useRead(tokens.uses, { params: { id }, query: { limit: SHOWN } });
  return (
    <Section title="Recent uses">
      <Loaded query={query} what="Loading the uses">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>Not used yet.</Empty>
          ) : (
            <Stack gap={4} className="panel">
              {items.map((use) => (
                <Text key={use.id}>
                  <Status of={use.granted ? 'done' : 'refused'}>{use.granted ? 'opened' : 'refused'}</Status>{' '}
                  <When at={use.used_at} /> for {use.used_by}: {use.resource_kind.replaceAll('_', ' ')} {use.resource_name} (
                  {use.destination_label})
                </Text>
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Section>
  );
}
