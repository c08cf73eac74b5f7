import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { budgets, type PeriodBudget } from '../../contracts/budgets.ts';
import { useList } from '../api/queries.ts';
import { budgetColumns } from '../resources/budget-columns.tsx';
import { FormLink } from '../ui/form-link.tsx';
import { ListTable } from '../ui/list.tsx';
import { Section } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';

/** Periods end, although nothing happens. */
const EVERY_MS = 60_000;

const nameColumn = {
  label: 'Budget',
  show: ({ id, name }: PeriodBudget) => (
    <Anchor component={Link} to={`/budgets/${id}`}>
      {name}
    </Anchor>
  ),
};

/** What is left of the budgets that concern the caller, in their present periods. */
export function Budgets() {
  const query = useList(budgets.list, {}, { every_ms: EVERY_MS });
  return (
    <Section
      title="Budgets"
      actions={
        <FormLink to="/budgets/new" needs={budgets.create.access}>
          New budget
        </FormLink>
      }
    >
      <ListTable
        query={query}
        columns={[nameColumn, ...budgetColumns]}
        label="budgets"
        empty={<Empty>No budget limits what you spend.</Empty>}
      />
    </Section>
  );
}
