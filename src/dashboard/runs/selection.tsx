import { Button, Checkbox, Group, Text } from '@mantine/core';
import { useState } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';
import type { Column } from '../ui/list.tsx';
import { useLiveText } from '../ui/live.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Status } from '../ui/show.tsx';
import { BULK_ACTIONS, type BulkAction, forEachConcurrent } from './bulk-work.ts';

/** The most requests in progress at once. */
const AT_A_TIME = 4;

interface Outcome {
  tone: 'good' | 'bad' | 'busy';
  text: string;
}

/** Holds the selected runs of a list, and the result of the last action on each. */
export function useSelection(items: readonly Task[]) {
  const client = useClient();
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [news, setNews] = useState('');
  useLiveText(news);
  const selected = items.filter(({ id }) => ids.has(id));
  const note = (id: string, outcome: Outcome) => setOutcomes((before) => new Map(before).set(id, outcome));
  const work = useWork(async ({ action, on }: { action: BulkAction; on: readonly Task[] }) => {
    let failed = 0;
    setOutcomes(new Map(on.map(({ id }) => [id, { tone: 'busy', text: '…' }])));
    await forEachConcurrent(
      on.map((task) => ({ task, key: crypto.randomUUID() })),
      {
        at_a_time: AT_A_TIME,
        work: ({ task, key }) => action.act(client, task, key),
        onSettled({ task: { id } }, error) {
          if (error) failed += 1;
          note(id, error ? { tone: 'bad', text: error.message } : { tone: 'good', text: action.done });
        },
      },
    );
    setNews(`${action.label}: ${on.length - failed} of ${on.length} done${failed > 0 ? `, ${failed} failed` : ''}`);
  });
  return {
    selected,
    outcomes,
    busy: work.isPending,
    is: (id: string) => ids.has(id),
    set: (changed_ids: readonly string[], on: boolean) =>
      setIds((before) =>
        on ? new Set([...before, ...changed_ids]) : new Set([...before].filter((id) => !changed_ids.includes(id))),
      ),
    clear() {
      setIds(new Set());
      setOutcomes(new Map());
    },
    run: (action: BulkAction) => work.mutate({ action, on: selected.filter(action.takes) }),
  };
}

type Selection = ReturnType<typeof useSelection>;

const formatName = ({ prompt }: Task) => shortenPrompt(prompt, 60);

/** Returns the columns of a list whose rows can be selected; the result of an action is shown below the status. */
export const selectableColumns = ({ is, set, outcomes }: Selection, columns: Column<Task>[]): Column<Task>[] => [
  {
    label: 'Select',
    is_obvious: true,
    show: (task) => (
      <Checkbox
        size="xs"
        aria-label={`Select ${formatName(task)}`}
        checked={is(task.id)}
        onChange={(event) => set([task.id], event.currentTarget.checked)}
      />
    ),
  },
  ...columns.map((column) =>
    column.label !== 'Status'
      ? column
      : {
          ...column,
          show: (task: Task) => (
            <div>
              {column.show(task)}
              <OutcomeOf outcome={outcomes.get(task.id)} />
            </div>
          ),
        },
  ),
];

function OutcomeOf({ outcome }: { outcome: Outcome | undefined }) {
  if (!outcome) return null;
  return (
    <div className="outcome">
      <Status of={outcome.text} tone={outcome.tone}>
        {outcome.text}
      </Status>
    </div>
  );
}

/** Shows the actions on the selected runs; each action counts the runs to which it applies. */
export function BulkBar({ selection, items }: { selection: Selection; items: readonly Task[] }) {
  const { selected, busy, run, set, clear } = selection;
  const all = items.length > 0 && selected.length === items.length;
  return (
    <Group gap="xs" role="group" aria-label="Selected runs">
      <Checkbox
        size="xs"
        label={selected.length === 0 ? 'Select all shown' : `${selected.length} selected`}
        checked={all}
        indeterminate={selected.length > 0 && !all}
        onChange={() =>
          set(
            items.map(({ id }) => id),
            !all,
          )
        }
      />
      {BULK_ACTIONS.map((action) => {
        const count = selected.filter(action.takes).length;
        return (
          <Button
            key={action.label}
            variant="default"
            disabled={count === 0}
            loading={busy}
            data-needs="run"
            onClick={() => run(action)}
          >{`${action.label}${count > 0 ? ` ${count}` : ''}`}</Button>
        );
      })}
      {selected.length > 0 && (
        <Button variant="default" onClick={clear}>
          Clear selection
        </Button>
      )}
      {busy && (
        <Text size="xs" c="dimmed">
          Working …
        </Text>
      )}
    </Group>
  );
}
