import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from 'react-router';
import { scheduledAgents } from '../../../contracts/scheduled-agents.ts';
import type { ApiReply } from '../../api/call.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { type Column, ColumnTable } from '../../ui/list.tsx';
import { Section } from '../../ui/page.tsx';
import { Facts, Status } from '../../ui/show.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { getOwnZone, When } from '../../ui/time.tsx';
import { Named } from '../columns.tsx';
import type { Values } from '../fields.ts';
import type { Stored } from '../resource.ts';
import { Backfill } from './backfill.tsx';

/** Describes how often a schedule runs. */
export const recurrenceText = ({ interval_value, interval_unit, cron, time_zone }: Stored): string => {
  if (cron) return `${cron} (${time_zone})`;
  return interval_value === 1 ? `every ${String(interval_unit).replace(/s$/, '')}` : `every ${interval_value} ${interval_unit}`;
};

export function ScheduleState({ record: { enabled, disabled_reason } }: { record: Stored }) {
  const off = disabled_reason ? 'paused' : 'off';
  return (
    <span title={disabled_reason}>
      <Status of={enabled ? 'enabled' : off} />
    </span>
  );
}

export function ScheduleActions({ record }: { record: Stored }) {
  const change = useAct(record.enabled ? scheduledAgents.disable : scheduledAgents.enable);
  const trigger = useAct(scheduledAgents.trigger);
  const input = { params: { id: record.id } };
  const problem = change.error ?? trigger.error;
  return (
    <Stack>
      <Facts
        of={{
          State: <ScheduleState record={record} />,
          Repeats: recurrenceText(record),
          Workflow: <Named kind="workflow" slug="workflows" id={record.workflow_id} />,
          'Next run': <When at={record.next_run_at} none="none" />,
          'Last run': <When at={record.last_run_at} none="never" />,
        }}
      />
      <Group>
        <Button loading={trigger.isPending} data-needs={trigger.needs} onClick={() => trigger.mutate(input)}>
          Run now
        </Button>
        <Button variant="default" loading={change.isPending} data-needs={change.needs} onClick={() => change.mutate(input)}>
          {record.enabled ? 'Switch off' : 'Switch on'}
        </Button>
        <DialogButton label="Back-fill" title="Run past due times" needs={scheduledAgents.backfill.access}>
          {(close) => <Backfill id={record.id} close={close} />}
        </DialogButton>
      </Group>
      <Failure problem={problem} />
      <Fires id={record.id} />
    </Stack>
  );
}

const FIRES: Column<ApiReply<typeof scheduledAgents.runs>['items'][number]>[] = [
  { label: 'Due', show: ({ due_at }) => <When at={due_at} exact /> },
  { label: 'Outcome', show: ({ outcome }) => <Status of={outcome} /> },
  {
    label: 'Run',
    show: ({ task_id, task_status }) =>
      task_id ? (
        <Anchor component={Link} to={`/tasks/${task_id}`}>
          {task_status ?? 'run'}
        </Anchor>
      ) : (
        '—'
      ),
  },
  { label: 'Detail', show: ({ detail }) => detail },
];

/** A due time may pass without a run. */
const EVERY_MS = 60_000;

function Fires({ id }: { id: string }) {
  const query = useRead(scheduledAgents.runs, { params: { id }, query: { limit: 20 } }, { every_ms: EVERY_MS });
  return (
    <Section title="History">
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty>Not due yet.</Empty>
          ) : (
            <ColumnTable rows={items} columns={FIRES} label="Due times" toKey={({ due_at, outcome }) => `${due_at}-${outcome}`} />
          )
        }
      </Loaded>
    </Section>
  );
}

const PREVIEWED = 5;
const TYPING_MS = 400;
const omitEmpty = (value: unknown) => (value === '' || value === null || value === undefined ? undefined : value);
const toIsoTime = (value: unknown) => (omitEmpty(value) === undefined ? undefined : new Date(value as string).toISOString());

/** Shows when the schedule in a form would be due, as far as the form is filled in. */
export function SchedulePreview({ values }: { values: Values }) {
  const { interval_value, interval_unit, cron, time_zone, start_at, end_at } = values;
  const [text] = useDebouncedValue(
    JSON.stringify({
      interval_value: omitEmpty(interval_value),
      interval_unit: omitEmpty(interval_unit),
      cron: omitEmpty(cron),
      time_zone: omitEmpty(time_zone),
      start_at: toIsoTime(start_at),
      end_at: toIsoTime(end_at),
      count: PREVIEWED,
    }),
    TYPING_MS,
  );
  const body = JSON.parse(text);
  const enabled = body.cron !== undefined || (body.interval_value !== undefined && body.interval_unit !== undefined);
  const { data, error } = useRead(scheduledAgents.preview, { body }, { enabled });
  if (!enabled) return null;
  const zone = body.cron === undefined || body.time_zone === getOwnZone() ? null : (body.time_zone as string);
  return (
    <Section title="Next due times">
      {error && <Text c="dimmed">{error.errors.map(({ message }) => message).join('. ') || error.message}</Text>}
      {data && <DueTimes times={data.due_times} zone={zone} />}
    </Section>
  );
}

/** Lists the times in the browser's zone, and in the schedule's if it is another one. */
function DueTimes({ times, zone }: { times: string[]; zone: string | null }) {
  if (times.length === 0) return <Empty>Never: the schedule has ended.</Empty>;
  const own: Column<string> = { label: 'In your time zone', show: (at) => <When at={at} relative /> };
  const theirs: Column<string>[] = zone ? [{ label: `In ${zone}`, show: (at) => <When at={at} zone={zone} /> }] : [];
  return <ColumnTable rows={times} columns={[...theirs, own]} label="Next due times" toKey={(at) => at} />;
}
