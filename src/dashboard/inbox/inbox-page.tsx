import { INBOX_KINDS, inbox } from '../../contracts/inbox.ts';
import { useClient } from '../api/context.tsx';
import { useList } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { APPROVE, listApprovals } from '../runs/bulk-work.ts';
import { ReviewButton } from '../runs/review.tsx';
import { SelectionBar, selectColumn, useSelection } from '../runs/selection.tsx';
import { FilterBar, type FilterField } from '../ui/filter-bar.tsx';
import { useFilters } from '../ui/filters.ts';
import { ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { INBOX_COLUMNS } from './inbox-table.tsx';
import { KIND_NAMES, nameItem } from './reasons.ts';

/** Every decision that the viewer's runs wait for, the oldest first. */
export default function InboxPage() {
  const wanted = useFilters();
  const client = useClient();
  const query = useList(inbox.list, { limit: 50, ...wanted.filters });
  const items = query.items ?? [];
  const selection = useSelection(items);
  const approvals = selection.selected.filter(({ kind }) => kind === 'approval');
  return (
    <Page title="Inbox">
      <InboxFilters wanted={wanted} />
      <SelectionBar selection={selection} items={items} label="Selected decisions">
        <ReviewButton action={APPROVE} count={approvals.length} read={async () => listApprovals(client, approvals)} />
      </SelectionBar>
      <ListTable
        query={query}
        columns={[selectColumn(selection, nameItem), ...INBOX_COLUMNS]}
        label="decisions"
        empty={
          <Empty>{wanted.filtered ? 'Nothing that waits for you matches these filters.' : 'No run is waiting for you.'}</Empty>
        }
      />
    </Page>
  );
}

function InboxFilters({ wanted }: { wanted: ReturnType<typeof useFilters> }) {
  const kinds = INBOX_KINDS.map((value) => ({ value, label: KIND_NAMES[value] }));
  const fields: FilterField[] = [
    { name: 'kind', label: 'Waits for', options: kinds, pinned: true },
    { name: 'workflow_id', label: 'Workflow', options: useNames('workflow').options, pinned: true },
    { name: 'agent_id', label: 'Agent', options: useNames('agent').options, pinned: true },
    { name: 'tool', label: 'Tool', pinned: true },
  ];
  return <FilterBar fields={fields} wanted={wanted} />;
}
