import { Anchor, Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { EvaluationDetail } from '../../contracts/evaluations.ts';
import { compareUrl } from '../runs/compared.ts';
import { formatNumber } from '../ui/figures.ts';
import { type Column, ColumnTable } from '../ui/list.tsx';
import { Section } from '../ui/page.tsx';
import { Status } from '../ui/show.tsx';

type Regression = EvaluationDetail['regressions'][number];

/** How many regressions are shown at first, so that the results below stay within reach. */
const SHOWN_FIRST = 10;

/** Lists the items that passed in the baseline and do not pass now. */
export function Regressions({ evaluation: { regressions } }: { evaluation: EvaluationDetail }) {
  const [most, setMost] = useState(SHOWN_FIRST);
  const visible = regressions.slice(0, most);
  return (
    <Section title="Regressions">
      {regressions.length === 0 ? (
        <Text>Every item that passed in the baseline passes now.</Text>
      ) : (
        <ColumnTable rows={visible} columns={COLUMNS} label="Regressions" toKey={({ item_id }) => item_id} />
      )}
      {visible.length < regressions.length && (
        <Group>
          <Button variant="default" onClick={() => setMost(regressions.length)}>
            {`Show all ${formatNumber(regressions.length)}`}
          </Button>
        </Group>
      )}
    </Section>
  );
}

const COLUMNS: Column<Regression>[] = [
  { label: 'Item', show: ({ prompt }) => <span className="clip">{prompt.slice(0, 200)}</span> },
  { label: 'Now', show: ({ status }) => <Status of={status} /> },
  { label: 'Runs', show: (regression) => <Runs of={regression} /> },
];

function Runs({ of: { task_id, baseline_task_id } }: { of: Regression }) {
  const link = (to: string, text: string) => (
    <Anchor component={Link} to={to}>
      {text}
    </Anchor>
  );
  return (
    <span className="links">
      {task_id && link(`/tasks/${task_id}`, 'now')}
      {baseline_task_id && link(`/tasks/${baseline_task_id}`, 'before')}
      {task_id && baseline_task_id && link(compareUrl([baseline_task_id, task_id]), 'compare')}
    </span>
  );
}
