import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { inbox } from '../../contracts/inbox.ts';
import { useList } from '../api/queries.ts';
import { formatNumber } from '../ui/figures.ts';
import { ListTable } from '../ui/list.tsx';
import { Section } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { INBOX_COLUMNS } from './inbox-table.tsx';

const SHOWN = 10;

/** The decisions that have waited longest, and how many there are. */
export function Waiting() {
  const query = useList(inbox.list, { limit: SHOWN });
  return (
    <Section
      title="Waiting for you"
      actions={
        query.total > 0 && (
          <Anchor component={Link} to="/inbox" size="sm">
            {`All ${formatNumber(query.total)}`}
          </Anchor>
        )
      }
    >
      <ListTable query={query} columns={INBOX_COLUMNS} label="decisions" empty={<Empty>No run is waiting for you.</Empty>} />
    </Section>
  );
}
