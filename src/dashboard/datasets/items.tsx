import { Anchor, Group, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { type DatasetItem, datasets } from '../../contracts/datasets.ts';
import { useAct, useList } from '../api/queries.ts';
import { Confirm } from '../ui/confirm.tsx';
import { textToCompare } from '../ui/diff.tsx';
import { formatCount } from '../ui/figures.ts';
import { Listed } from '../ui/list.tsx';
import { Code, Facts, Labelled } from '../ui/show.tsx';
import { Empty } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { AddItem, ImportItem } from './add-item.tsx';

const SHORT = 200;

/** Lists the items of a dataset. Items never change: they can be read, added and deleted. */
export function Items({ dataset_id }: { dataset_id: string }) {
  const query = useList(datasets.items, { limit: 50 }, { params: { id: dataset_id } });
  const label = 'items of this dataset';
  return (
    <Stack>
      <Group gap="xs">
        <AddItem dataset_id={dataset_id} />
        <ImportItem dataset_id={dataset_id} />
      </Group>
      <Listed
        query={query}
        label={label}
        empty={
          <Empty>
            No items yet. Add one by hand, import the bundle of a run, or choose “Add to dataset …” on the page of a run.
          </Empty>
        }
      >
        {(items) => (
          <Stack gap="xs" role="group" aria-label={label}>
            {items.map((item) => (
              <Item key={item.id} item={item} />
            ))}
          </Stack>
        )}
      </Listed>
    </Stack>
  );
}

function Item({ item }: { item: DatasetItem }) {
  const { prompt, expected, calls, source_task_id, created_at } = item;
  const has_answer = expected !== null && expected !== undefined;
  return (
    <details className="call">
      <summary>
        <span className="args said">{prompt.slice(0, SHORT)}</span>
        <span className="args">{has_answer ? textToCompare(expected).slice(0, SHORT) : 'no expected answer'}</span>
      </summary>
      <div>
        <Labelled label="Prompt">
          <Code label="Prompt">{prompt}</Code>
        </Labelled>
        {has_answer && (
          <Labelled label="Expected answer">
            <Code label="Expected answer">{expected}</Code>
          </Labelled>
        )}
        <Facts
          of={{
            Added: <When at={created_at} />,
            ...(calls.length > 0 && { Recorded: formatCount(calls.length, 'tool call') }),
            ...(source_task_id && {
              'Taken from': (
                <Anchor component={Link} to={`/tasks/${source_task_id}`} inherit>
                  a run
                </Anchor>
              ),
            }),
          }}
        />
        <Group>
          <DeleteItem item={item} />
        </Group>
      </div>
    </details>
  );
}

function DeleteItem({ item: { id: item_id, dataset_id, prompt } }: { item: DatasetItem }) {
  const remove = useAct(datasets.removeItem);
  return (
    <Confirm
      label="Delete"
      title="Delete an item"
      act={() => remove.mutateAsync({ params: { id: dataset_id, item_id } })}
      problem={remove.error}
      busy={remove.isPending}
      needs={remove.needs}
    >
      “{prompt.slice(0, SHORT)}” is deleted with its results. The counts of evaluations stay.
    </Confirm>
  );
}
