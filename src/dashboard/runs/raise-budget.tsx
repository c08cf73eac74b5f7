import { Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { useAct, useRead } from '../api/queries.ts';
import { Failure, Loaded } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

type Limits = { max_cost_usd: number | null; max_tokens: number | null; max_seconds: number | null };
const FIELDS = { max_cost_usd: 'US dollars', max_tokens: 'Tokens', max_seconds: 'Seconds' } as const;

/**
 * Raises the budget of a run. A run that waits without an open call waits for its budget. `unpriced`: it waits because a model has
 * no price, says this sentence.
 */
export function RaiseBudget({ task, unpriced }: { task: Task; unpriced: string | null }) {
  const workflow = useRead(workflows.get, { params: { id: task.workflow_id } });
  return (
    <Loaded query={workflow}>
      {({ budget }) =>
        budget ? (
          <Raise task={task} before={budget} unpriced={unpriced} />
        ) : (
          <Text>The run is waiting and resumes automatically.</Text>
        )
      }
    </Loaded>
  );
}

interface Raising {
  task: Task;
  before: Limits & { on_exhausted: 'wait' | 'halt' };
  unpriced: string | null;
}

function Raise({ task, before, unpriced }: Raising) {
  const raise = useAct(tasks.budget);
  const [limits, setLimits] = useState<Limits>(before);
  const is_changed = (Object.keys(FIELDS) as (keyof Limits)[]).some((name) => limits[name] !== before[name]);
  useUnsaved(is_changed && !raise.isPending && !raise.isSuccess);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    raise.mutate({ params: { id: task.id }, body: { ...limits, on_exhausted: before.on_exhausted } });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" className="panel">
        <Text fw={600}>{unpriced ?? 'The budget is used up. Raise it to resume the run, or halt the run.'}</Text>
        {unpriced && <Text>Set a price at the provider and send the budget again, or clear the dollars and limit tokens.</Text>}
        <Group align="end">
          {(Object.keys(FIELDS) as (keyof Limits)[]).map((name) => (
            <NumberInput
              key={name}
              label={FIELDS[name]}
              placeholder="no limit"
              min={0}
              value={limits[name] ?? ''}
              onChange={(value) => setLimits({ ...limits, [name]: value === '' ? null : Number(value) })}
            />
          ))}
          <Button type="submit" size="sm" loading={raise.isPending} data-needs={raise.needs}>
            {unpriced ? 'Send the budget' : 'Raise the budget'}
          </Button>
        </Group>
        <Failure problem={raise.error} />
      </Stack>
    </form>
  );
}
