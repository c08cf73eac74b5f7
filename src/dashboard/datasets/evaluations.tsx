import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Dataset } from '../../contracts/datasets.ts';
import { type Evaluation, evaluations } from '../../contracts/evaluations.ts';
import { useList } from '../api/queries.ts';
import { formatRate } from '../ui/figures.ts';
import { type Column, ListTable } from '../ui/list.tsx';
import { Status } from '../ui/show.tsx';
import { Empty } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { evaluationTitle, evaluationUrl } from './evaluation-url.ts';
import { StartEvaluation } from './start-evaluation.tsx';

/** Lists the evaluations of a dataset. A new one starts with the settings of the last. */
export function EvaluationList({ dataset: { id, item_count } }: { dataset: Dataset }) {
  const query = useList(evaluations.list, { limit: 50 }, { params: { id } });
  const items = (
    <Button component={Link} to={`/datasets/${id}`}>
      Go to items
    </Button>
  );
  return (
    <Stack>
      {item_count > 0 && query.items && (
        <Group>
          <StartEvaluation dataset_id={id} earlier={query.items} />
        </Group>
      )}
      <ListTable
        query={query}
        columns={evaluationColumns}
        label="evaluations of this dataset"
        empty={
          item_count === 0 ? (
            <Empty action={items}>No items to evaluate yet. Add one first.</Empty>
          ) : (
            <Empty>No evaluations yet. Start one to see how many of the items a workflow answers as expected.</Empty>
          )
        }
      />
    </Stack>
  );
}

export const evaluationColumns: Column<Evaluation>[] = [
  {
    label: 'Workflow',
    show: (evaluation) => (
      <Anchor component={Link} to={evaluationUrl(evaluation)} className="clip">
        {evaluationTitle(evaluation)}
      </Anchor>
    ),
  },
  { label: 'Status', show: ({ status }) => <Status of={status} /> },
  { label: 'Pass rate', show: ({ pass_rate }) => (pass_rate === null ? '—' : formatRate(pass_rate)) },
  { label: 'Passed', show: ({ passed, items }) => <span className="nowrap">{`${passed} of ${items}`}</span> },
  {
    label: 'Version',
    show: ({ definition_hash, model }) => (
      <>
        <span className="mono" title={definition_hash}>
          {definition_hash.slice(0, 8)}
        </span>
        {model && (
          <Text size="xs" c="dimmed">
            {model}
          </Text>
        )}
      </>
    ),
  },
  { label: 'Started', show: ({ created_at }) => <When at={created_at} /> },
];
