import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { FAILURE_HOURS, system } from '../../contracts/system.ts';
import { bytesText } from '../../domain/sizes.ts';
import type { ApiReply } from '../api/call.ts';
import { useScopes } from '../api/may.ts';
import { useRead } from '../api/queries.ts';
import { formatDuration, formatNumber, formatShare } from '../ui/figures.ts';
import { type Column, ColumnTable } from '../ui/list.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Status } from '../ui/show.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';

type Reply = ApiReply<typeof system.get>;
type ItemOf<K extends 'workers' | 'queues' | 'runs' | 'failures'> = NonNullable<Reply[K]['items']>[number];

const EVERY_MS = 10_000;

/** The state of the installation, for its operators. */
export default function System() {
  const { role } = useScopes();
  return (
    <Page title="System">
      {role && role !== 'administrator' ? <Empty>Only administrators see the state of the installation.</Empty> : <Parts />}
    </Page>
  );
}

function Parts() {
  const query = useRead(system.get, {}, { every_ms: EVERY_MS });
  return (
    <Loaded query={query} what="Loading the state of the installation">
      {({ version, at, checks, workers, queues, runs, storage, failures }) => (
        <>
          <Text c="dimmed">
            Perdura {version}, read <When at={at} />. A part that cannot be read names the reason, and the others are still shown.
          </Text>
          <Section title="Services">
            <ColumnTable rows={checks} columns={checkColumns} label="services" toKey={({ name }) => name} />
          </Section>
          <Part title="Workers" of={workers} columns={workerColumns(version)} toKey={({ id }) => id}>
            No worker reports: runs wait until one is started with `perdura worker`.
          </Part>
          <Part title="Queues" of={queues} columns={queueColumns} toKey={({ queue, kind }) => `${queue} ${kind}`}>
            There is no queue.
          </Part>
          <Part title="Open runs" of={runs} columns={runColumns} toKey={({ status }) => status}>
            No run is open.
          </Part>
          <Section title="Storage">
            <ColumnTable rows={storage} columns={storageColumns} label="storage" toKey={({ of }) => of} />
          </Section>
          <Part
            title={`Failed runs of the last ${FAILURE_HOURS} hours`}
            of={failures}
            columns={failureColumns}
            toKey={({ error_code }) => error_code}
          >
            No run has failed.
          </Part>
        </>
      )}
    </Loaded>
  );
}

interface PartProps<T> {
  title: string;
  of: { items: T[] | null; error: string | null };
  columns: Column<T>[];
  toKey(row: T): string;
  /** What is shown if there are no items. */
  children: ReactNode;
}

function Part<T>({ title, of: { items, error }, columns, toKey, children }: PartProps<T>) {
  return (
    <Section title={title}>
      {items === null && (
        <div className="panel">
          <Status of="failed">cannot be read</Status> {error}
        </div>
      )}
      {items?.length === 0 && <Empty>{children}</Empty>}
      {items && items.length > 0 && <ColumnTable rows={items} columns={columns} label={title.toLowerCase()} toKey={toKey} />}
    </Section>
  );
}

const orUnknown = <T,>(value: T | null, format: (value: T) => string) => (value === null ? '—' : format(value));

export const checkColumns: Column<Reply['checks'][number]>[] = [
  { label: 'Service', card: 'title', show: ({ name }) => name },
  { label: 'State', card: 'lead', show: ({ ok }) => <Status of={ok ? 'done' : 'failed'}>{ok ? 'ok' : 'failed'}</Status> },
  { label: 'Detail', card: 'line', className: 'wrapped', show: ({ detail }) => detail },
];

export const workerColumns = (own_version: string): Column<ItemOf<'workers'>>[] => [
  { label: 'Worker', card: 'title', className: 'wrapped', show: ({ name }) => name },
  {
    label: 'State',
    card: 'lead',
    show: ({ silent }) => <Status of={silent ? 'failed' : 'done'}>{silent ? 'silent' : 'works'}</Status>,
  },
  {
    label: 'Version',
    show: ({ version, build_id }) => (
      <>
        {version === own_version ? version : <Status of="waiting">{`${version}, not ${own_version}`}</Status>}
        {build_id && <div className="note">build {build_id}</div>}
      </>
    ),
  },
  { label: 'Does', show: ({ roles }) => roles.join(', ') },
  {
    label: 'Load',
    figure: true,
    show: ({ used, slots }) => `${formatNumber(used)} of ${formatNumber(slots)} (${formatShare(used, slots)})`,
  },
  { label: 'Free disk', figure: true, show: ({ disk_free }) => orUnknown(disk_free, bytesText) },
  { label: 'Last seen', show: ({ seen_at }) => <When at={seen_at} relative /> },
  { label: 'Started', className: 'spare', show: ({ started_at }) => <When at={started_at} /> },
];

const KINDS = { workflow: 'runs', activity: 'steps and calls' };

export const queueColumns: Column<ItemOf<'queues'>>[] = [
  { label: 'Queue', card: 'title', className: 'wrapped', show: ({ queue }) => queue },
  { label: 'Of', show: ({ kind }) => KINDS[kind] },
  { label: 'Waiting', figure: true, show: ({ waiting }) => formatNumber(waiting) },
  {
    label: 'Oldest',
    figure: true,
    show: ({ waiting, oldest_seconds }) => (waiting === 0 ? '—' : formatDuration(oldest_seconds * 1_000)),
  },
  {
    label: 'Workers',
    figure: true,
    show: ({ workers }) => (workers === 0 ? <Status of="failed">none</Status> : formatNumber(workers)),
  },
];

export const runColumns: Column<ItemOf<'runs'>>[] = [
  { label: 'Status', card: 'lead', show: ({ status }) => <Status of={status} /> },
  { label: 'Runs', figure: true, show: ({ runs }) => formatNumber(runs) },
  { label: 'Oldest', figure: true, show: ({ oldest_seconds }) => formatDuration(oldest_seconds * 1_000) },
];

const PLACES = { database: 'Database', home: 'Disk of the home folder' };

export const storageColumns: Column<Reply['storage'][number]>[] = [
  {
    label: 'Of',
    className: 'wrapped',
    show: ({ of, error }) => (
      <>
        {PLACES[of]}
        {error && <div className="note">{error}</div>}
      </>
    ),
  },
  { label: 'Used', figure: true, show: ({ used_bytes }) => orUnknown(used_bytes, bytesText) },
  {
    label: 'Free',
    figure: true,
    show: ({ free_bytes, total_bytes }) =>
      orUnknown(free_bytes, (bytes) => `${bytesText(bytes)} (${formatShare(bytes, total_bytes!)})`),
  },
];

export const failureColumns: Column<ItemOf<'failures'>>[] = [
  { label: 'Error', card: 'title', show: ({ error_code }) => error_code },
  { label: 'Runs', figure: true, show: ({ runs }) => formatNumber(runs) },
  { label: 'Last', show: ({ last_at }) => <When at={last_at} relative /> },
  {
    label: 'Newest',
    className: 'wrapped',
    show: ({ newest }) =>
      newest.map(({ task_id, login, at, own }) => (
        <div key={task_id}>
          {own ? (
            <Anchor component={Link} to={`/tasks/${task_id}`}>
              {task_id}
            </Anchor>
          ) : (
            <>
              {task_id} <span className="note">of {login}</span>
            </>
          )}{' '}
          <When at={at} />
        </div>
      )),
  },
];
