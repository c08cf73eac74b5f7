import { Button, Group, Stack } from '@mantine/core';
import { webhooks } from '../../contracts/webhooks.ts';
import type { ApiReply } from '../api/call.ts';
import { useAct, useRead } from '../api/queries.ts';
import { formatCount } from '../ui/figures.ts';
import { Code, Status } from '../ui/show.tsx';
import { Empty, Failure, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';

const EVERY_MS = 5_000;

/** Returns how often to read the messages again, in milliseconds: attempts are not reported. False if none is on its way. */
export const findInterval = (reply: Pick<ApiReply<typeof webhooks.list>, 'items'> | undefined): number | false =>
  reply?.items.some(({ status }) => status === 'pending') ? EVERY_MS : false;

/** Lists the webhook messages sent at the end of the run, with every attempt. */
export function Deliveries({ task_id }: { task_id: string }) {
  const query = useRead(webhooks.list, { params: { id: task_id } }, { every_ms: findInterval });
  const again = useAct(webhooks.redeliver);
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty>No deliveries. To receive a message when a run ends, set a webhook URL in the workflow.</Empty>
        ) : (
          <Stack gap="xs">
            <Failure problem={again.error} />
            {items.map((delivery) => (
              <details key={delivery.id} className="call">
                <summary>
                  <Status of={delivery.status} />
                  <span className="mono">{delivery.url}</span>
                  <span className="note">{formatCount(delivery.attempts.length, 'attempt')}</span>
                </summary>
                <div>
                  {delivery.attempts.map(({ attempt, response_status, error, attempted_at }) => (
                    <div key={attempt}>
                      Attempt {attempt}: {response_status ?? error ?? 'no response'}, <When at={attempted_at} />
                    </div>
                  ))}
                  <Code label="Payload">{delivery.payload}</Code>
                  <Group>
                    <Button
                      variant="default"
                      loading={again.isPending}
                      data-needs={again.needs}
                      onClick={() => again.mutate({ params: { id: task_id, delivery_id: delivery.id } })}
                    >
                      Deliver again
                    </Button>
                  </Group>
                </div>
              </details>
            ))}
          </Stack>
        )
      }
    </Loaded>
  );
}
