import { Button, Group, Stack } from '@mantine/core';
import { alerts } from '../../../contracts/alerts.ts';
import type { AlertMeasure } from '../../../domain/statuses.ts';
import type { ApiReply } from '../../api/call.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { formatCount, formatMoney, formatNumber } from '../../ui/figures.ts';
import { type Column, ColumnTable } from '../../ui/list.tsx';
import { Section } from '../../ui/page.tsx';
import { Facts, Status, TestVerdict } from '../../ui/show.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import type { Stored } from '../resource.ts';

const roundToTenth = (value: number) => Math.round(value * 10) / 10;

const SPELLED: Record<AlertMeasure, (value: number) => string> = {
  failure_rate: (value) => `${roundToTenth(value)} % failed`,
  spend: (value) => formatMoney(value),
  waiting: (value) => `${roundToTenth(value)} min waiting`,
  provider_errors: (value) => `${formatNumber(value)} failed requests`,
  backlog: (value) => `${formatNumber(value)} pending`,
  budget: (value) => `${roundToTenth(value)} % spent`,
};

export const formatMeasure = (measure: string, value: number | null) =>
  value === null ? '—' : SPELLED[measure as AlertMeasure](value);

export function AlertStatus({ alert: { state, enabled, muted_until } }: { alert: Stored }) {
  if (!enabled) return <Status of="off" />;
  const muted = isMuted(muted_until) ? ', muted' : '';
  return state === 'firing' ? (
    <Status of="firing" tone="bad">{`firing${muted}`}</Status>
  ) : (
    <Status of="ok" tone="good">{`ok${muted}`}</Status>
  );
}

const isMuted = (until: string | null) => until !== null && Date.parse(until) > Date.now();

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MUTES: [label: string, ms: number][] = [
  ['Mute for an hour', HOUR_MS],
  ['Mute for a day', 24 * HOUR_MS],
];

export function AlertPanel({ record }: { record: Stored }) {
  const change = useAct(alerts.update);
  const test = useAct(alerts.test);
  const muteUntil = (muted_until: string | null) => change.mutate({ params: { id: record.id }, body: { muted_until } });
  return (
    <Stack>
      <Facts
        of={{
          State: <AlertStatus alert={record} />,
          Since: <When at={record.state_since} />,
          Measured: formatMeasure(record.measure, record.last_value),
          At: <When at={record.measured_at} none="not yet" />,
          'Muted until': <When at={isMuted(record.muted_until) ? record.muted_until : null} none="not muted" />,
        }}
      />
      <Group gap="xs">
        {MUTES.map(([label, ms]) => (
          <Button
            key={label}
            variant="default"
            loading={change.isPending}
            data-needs={change.needs}
            onClick={() => muteUntil(new Date(Date.now() + ms).toISOString())}
          >
            {label}
          </Button>
        ))}
        {isMuted(record.muted_until) && (
          <Button variant="default" loading={change.isPending} data-needs={change.needs} onClick={() => muteUntil(null)}>
            Unmute
          </Button>
        )}
        <Button
          variant="default"
          loading={test.isPending}
          data-needs={test.needs}
          onClick={() => test.mutate({ params: { id: record.id } })}
        >
          Send a test
        </Button>
      </Group>
      <Failure problem={change.error} />
      <Failure problem={test.error} />
      {test.data && (
        <Stack gap={4} role="status">
          {test.data.results.map(({ channel, to, delivered, error }) => (
            <div key={`${channel} ${to}`}>
              <TestVerdict good={delivered} yes="sent" no={error} /> {channel} {to}
            </div>
          ))}
        </Stack>
      )}
      <History alert={record} />
    </Stack>
  );
}

type Event = ApiReply<typeof alerts.events>['items'][number];

export const alertEventColumns = (measure: string): Column<Event>[] => [
  { label: 'Time', show: ({ at }) => <When at={at} /> },
  {
    label: 'Change',
    show: ({ state }) =>
      state === 'firing' ? (
        <Status of="firing" tone="bad">
          fired
        </Status>
      ) : (
        <Status of="ok" tone="good">
          resolved
        </Status>
      ),
  },
  { label: 'Measured', show: ({ value }) => formatMeasure(measure, value) },
  { label: 'Threshold', show: ({ threshold }) => formatMeasure(measure, threshold) },
  { label: 'Messages', className: 'wrapped', show: (event) => <Deliveries event={event} /> },
];

function Deliveries({ event: { muted, deliveries } }: { event: Event }) {
  if (deliveries.length === 0) return muted ? 'muted' : 'none: no address';
  return deliveries.map(({ channel, to, status, attempts, error }) => (
    <div key={`${channel} ${to}`}>
      <Status of={status} /> {channel} {to}
      {error && <div className="note wrapped">{`${formatCount(attempts, 'attempt')}. ${error}`}</div>}
    </div>
  ));
}

function History({ alert: { id, measure } }: { alert: Stored }) {
  const query = useRead(alerts.events, { params: { id }, query: { limit: 50 } }, { every_ms: MINUTE_MS });
  return (
    <Section title="History">
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty>It has not fired yet.</Empty>
          ) : (
            <ColumnTable
              rows={items}
              columns={alertEventColumns(measure)}
              label="History of the alert"
              toKey={({ id: event }) => event}
            />
          )
        }
      </Loaded>
    </Section>
  );
}
