import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { scheduledAgents } from '../../../contracts/scheduled-agents.ts';
import { useAct } from '../../api/queries.ts';
import { Failure } from '../../ui/states.tsx';
import { formatZone } from '../../ui/time.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';
import { formatFieldFault } from '../values.ts';

const OVERLAPS = [
  { value: 'enqueue', label: 'one after the other' },
  { value: 'skip', label: 'only the first; skip what is due while it runs' },
  { value: 'enqueue_one', label: 'the first and one that waits' },
  { value: 'interrupt', label: 'the last; each halts the one before' },
] as const;

/** Runs the due times of a past range. */
export function Backfill({ id, close }: { id: string; close: () => void }) {
  const act = useAct(scheduledAgents.backfill);
  const [range, setRange] = useState({ from: '', to: '' });
  const [overlap_policy, setPolicy] = useState<(typeof OVERLAPS)[number]['value']>('enqueue');
  useUnsaved(!act.isSuccess && range.from + range.to !== '');
  if (act.data) return <Backfilled fires={act.data.fires} close={close} />;
  const faults = act.error?.errors ?? [];
  const renderBound = (name: 'from' | 'to', label: string) => (
    <TextInput
      label={label}
      description={`In your time zone, ${formatZone(new Date())}.`}
      type="datetime-local"
      step={1}
      value={range[name]}
      onChange={(event) => setRange({ ...range, [name]: event.currentTarget.value })}
      error={formatFieldFault(faults, name)}
    />
  );
  const start = () => {
    const [from, to] = [new Date(range.from).toISOString(), new Date(range.to).toISOString()];
    act.mutate({ params: { id }, body: { from, to, overlap_policy } });
  };
  return (
    <Stack>
      <Text>Runs the due times of this range that have no run, now, also if the schedule is switched off.</Text>
      {renderBound('from', 'First due time')}
      {renderBound('to', 'Last due time')}
      <NativeSelect
        label="Run"
        data={[...OVERLAPS]}
        value={overlap_policy}
        onChange={(event) => setPolicy(event.currentTarget.value as typeof overlap_policy)}
      />
      <Failure problem={act.error} />
      <Group justify="flex-end">
        <Button disabled={Object.values(range).includes('')} loading={act.isPending} data-needs={act.needs} onClick={start}>
          Back-fill
        </Button>
      </Group>
    </Stack>
  );
}

function Backfilled({ fires, close }: { fires: { outcome: string }[]; close: () => void }) {
  const started = fires.filter(({ outcome }) => outcome === 'backfilled').length;
  return (
    <Stack>
      <Text role="status">
        {fires.length === 0
          ? 'The schedule was not due in this range.'
          : `${started} of ${fires.length} due times have a run of a back-fill. The history shows each.`}
      </Text>
      <Group justify="flex-end">
        <Button onClick={close}>Done</Button>
      </Group>
    </Stack>
  );
}
