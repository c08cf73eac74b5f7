import { Button, Checkbox, Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import { useClient } from '../api/context.tsx';
import type { Column } from '../ui/list.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { BULK_ACTIONS } from './bulk-work.ts';
import { ReviewButton } from './review.tsx';

/** Holds the selected items of a list. */
export function useSelection<T extends { id: string }>(items: readonly T[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    selected: items.filter(({ id }) => ids.has(id)),
    is: (id: string) => ids.has(id),
    set: (changed_ids: readonly string[], on: boolean) =>
      setIds((before) =>
        on ? new Set([...before, ...changed_ids]) : new Set([...before].filter((id) => !changed_ids.includes(id))),
      ),
    clear: () => setIds(new Set()),
  };
}

type Selection<T extends { id: string }> = ReturnType<typeof useSelection<T>>;

/** Returns the column with which rows are selected. `nameOf`: their names for screen readers. */
export const selectColumn = <T extends { id: string }>({ is, set }: Selection<T>, nameOf: (item: T) => string): Column<T> => ({
  label: 'Select',
  is_obvious: true,
  card: 'corner',
  show: (item) => (
    <Checkbox
      size="xs"
      aria-label={`Select ${nameOf(item)}`}
      checked={is(item.id)}
      onChange={(event) => set([item.id], event.currentTarget.checked)}
    />
  ),
});

export const nameTask = ({ prompt }: Task) => shortenPrompt(prompt, 60);

interface SelectionBarProps<T extends { id: string }> {
  selection: Selection<T>;
  items: readonly T[];
  /** The name of the bar, for screen readers. */
  label: string;
  children: ReactNode;
}

/** Selects all items that are shown, or none, and holds the actions on those that are selected. */
export function SelectionBar<T extends { id: string }>({ selection, items, label, children }: SelectionBarProps<T>) {
  const { selected, set, clear } = selection;
  const all = selected.length === items.length;
  // Hidden, not removed: an open dialog of an action stays when its action empties the list.
  return (
    <Group gap="xs" role="group" aria-label={label} className="selection-bar" {...(items.length === 0 && { display: 'none' })}>
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
      {children}
      {selected.length > 0 && (
        <Button variant="default" onClick={clear}>
          Clear selection
        </Button>
      )}
    </Group>
  );
}

/** Shows the actions on the selected runs; each counts the runs to which it applies, and shows them before it acts. */
export function BulkBar({ selection, items }: { selection: Selection<Task>; items: readonly Task[] }) {
  const client = useClient();
  return (
    <SelectionBar selection={selection} items={items} label="Selected runs">
      {BULK_ACTIONS.map((action) => {
        const chosen = selection.selected.filter(action.takes);
        return (
          <ReviewButton key={action.label} action={action} count={chosen.length} read={() => action.listLines(client, chosen)} />
        );
      })}
    </SelectionBar>
  );
}
