import { Anchor, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type AuditEntry, audit } from '../../contracts/audit.ts';
import { useRefusal } from '../api/may.ts';
import { useList } from '../api/queries.ts';
import { toTaskQuery } from '../runs/task-query.ts';
import { FilterBar, type FilterField } from '../ui/filter-bar.tsx';
import { useFilters } from '../ui/filters.ts';
import { type Column, ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';

type Wanted = ReturnType<typeof useFilters>;

/** The audit: who changed, ran, decided and exported what. */
export default function Audit() {
  const refusal = useRefusal('audit');
  return <Page title="Audit">{refusal ? <Empty>{refusal}.</Empty> : <Entries />}</Page>;
}

function Entries() {
  const filter_state = useFilters();
  const [query_filters] = useDebouncedValue(filter_state.filters, 250);
  const query = useList(audit.list, { limit: 50, ...toTaskQuery(query_filters) });
  return (
    <>
      <Text c="dimmed">
        Every request that did more than read, newest first, also if it was refused. Click on a value to filter by it.
      </Text>
      <FilterBar fields={toFilterFields(filter_state.filters)} wanted={filter_state} />
      <ListTable
        query={query}
        columns={auditColumns(filter_state)}
        label="entries of the audit"
        empty={<Empty>{filter_state.filtered ? 'No entry matches these filters.' : 'No entries yet.'}</Empty>}
      />
    </>
  );
}

const toFilterFields = ({ from, to }: Record<string, string>): FilterField[] => [
  { name: 'principal', label: 'Person', placeholder: 'e.g. github:583231' },
  { name: 'operation', label: 'Action', placeholder: 'e.g. create_agent', pinned: true },
  { name: 'resource_type', label: 'Resource', placeholder: 'e.g. agents' },
  { name: 'resource_id', label: 'ID of the resource' },
  { name: 'from', label: 'From', type: 'date', max: to, pinned: true },
  { name: 'to', label: 'To', type: 'date', min: from, pinned: true },
];

export const auditColumns = ({ set }: Pick<Wanted, 'set'>): Column<AuditEntry>[] => {
  const by = (name: string, value: string, shown = value) => (
    <Anchor
      component="button"
      type="button"
      ta="left"
      mih={24}
      className="clip clip-short"
      title={value}
      onClick={() => set(name, value)}
    >
      {shown}
    </Anchor>
  );
  return [
    { label: 'Time', card: 'aside', show: ({ at }) => <When at={at} exact /> },
    {
      label: 'Person',
      show: ({ principal, login, service_key_id }) => (
        <>
          {by('principal', principal, login)}
          {service_key_id && (
            <Text size="xs" c="dimmed">
              with a service key
            </Text>
          )}
        </>
      ),
    },
    { label: 'Action', card: 'lead', show: ({ operation }) => by('operation', operation) },
    {
      label: 'Resource',
      show: ({ resource_type, resource_id, made_id }) => {
        const id = resource_id ?? made_id;
        return (
          <div>
            {by('resource_type', resource_type)}
            {id && by('resource_id', id)}
          </div>
        );
      },
    },
    { label: 'Status', show: ({ status }) => status },
    { label: 'Address', className: 'spare', show: ({ address }) => address },
  ];
};
