import { Button, Group, Stack } from '@mantine/core';
import { useEffect, useState } from 'react';
import { webhooks } from '../../contracts/webhooks.ts';
import { useAct, useRead } from '../api/queries.ts';
import { formatCount } from '../ui/figures.ts';
import { Code, Status } from '../ui/show.tsx';
import { Empty, Failure, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';

/** How often a message that is on its way is looked for: attempts are not reported. */
const EVERY_MS = 5_000;

/** Lists the webhook messages sent at the end of the run, with every attempt. */
export function Deliveries({ task_id }: { task_id: string }) {
  const [is_pending, setPending] = useState(false);
  const query = useRead(webhooks.list, { params: { id: task_id } }, is_pending ? { every_ms: EVERY_MS } : {});
  const pending = query.data?.items.some(({ status }) => status === 'pending') ?? false;
  useEffect(() => setPending(pending), [pending]);
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
