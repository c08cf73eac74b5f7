import { Button, SimpleGrid, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { me } from '../../contracts/me.ts';
import { USAGE_GROUPS, type UsageRow, usage } from '../../contracts/usage.ts';
import { useRead } from '../api/queries.ts';
import { saveText } from '../ui/download.tsx';
import { formatCost, formatCount, formatNumber, formatShare } from '../ui/figures.ts';
import { FilterChip } from '../ui/filter-bar.tsx';
import { useFilters } from '../ui/filters.ts';
import { ColumnTable } from '../ui/list.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Empty, Loaded, Loading } from '../ui/states.tsx';
import { getOwnZone } from '../ui/time.tsx';
import { Budgets } from './budgets.tsx';
import { groupColumns, modelColumns, toolColumns } from './columns.tsx';
import { toCsv } from './csv.ts';
import { MEASURES, type Measure } from './measures.ts';

const Chart = lazy(() => import('./chart.tsx'));

const EVERY_MS = 60_000;
const PERIODS: Record<string, string> = { '1': 'last day', '7': 'last 7 days', '30': 'last 30 days', '90': 'last 90 days' };
const DAY_MS = 24 * 3_600_000;
const MINUTE_MS = 60_000;
const CHARTS = { '': 'usual', ...Object.fromEntries(Object.entries(MEASURES).map(([name, { label }]) => [name, label])) };
const zone = getOwnZone();

type Wanted = ReturnType<typeof useFilters>;
type By = (typeof USAGE_GROUPS)[number];

/** Parses the filters. For everybody's runs, the usual question is about people, so they are grouped by owner. */
const parseFilters = ({ scope, by = scope === 'all' ? 'owner' : 'workflow', days = '7', measure }: Record<string, string>) => ({
  by,
  days,
  measure,
});

const slowestFirst = <T extends { p95_ms: number }>(rows: T[]) => rows.toSorted((one, other) => other.p95_ms - one.p95_ms);

/** Returns the period in the URL, rounded to the minute, so that polling keeps the same query. */
function toPeriod({ days = '7', scope }: Record<string, string>) {
  const to = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
  const from = to - Number(days) * DAY_MS;
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(scope === 'all' && { scope: 'all' as const }),
  };
}

export default function Usage() {
  const filter_state = useFilters();
  const { by, days, measure } = parseFilters(filter_state.filters);
  const period = toPeriod(filter_state.filters);
  const interval = days === '1' ? 'hour' : 'day';
  const groups = useRead(usage.get, { query: { ...period, by: by as By } }, { every_ms: EVERY_MS });
  const times = useRead(usage.get, { query: { ...period, by: by as By, interval, zone, most: 6 } }, { every_ms: EVERY_MS });
  const tools = useRead(usage.tools, { query: { ...period, most: 200 } }, { every_ms: EVERY_MS });
  const models = useRead(usage.models, { query: period }, { every_ms: EVERY_MS });
  return (
    <Page title="Usage">
      <Filters wanted={filter_state} />
      <Loaded query={groups} what="Loading usage">
        {({ rows }) => (rows.length === 0 ? <Empty>No run ended in this period.</Empty> : <Totals rows={rows} />)}
      </Loaded>
      <Loaded query={times} what="Loading the chart">
        {(report) =>
          report.rows.length > 0 && (
            <Suspense fallback={<Loading />}>
              <Chart report={report} measure={(measure ?? usualMeasure(report.rows)) as Measure} interval={interval} />
            </Suspense>
          )
        }
      </Loaded>
      <Loaded query={groups}>{({ rows }) => rows.length > 0 && <Groups by={by} rows={rows} />}</Loaded>
      <Budgets />
      <Loaded query={tools} what="Loading tools">
        {({ rows }) => (
          <Section title="Tools">
            {rows.length === 0 ? (
              <Empty>No tool was called in this period.</Empty>
            ) : (
              <ColumnTable rows={slowestFirst(rows)} columns={toolColumns} label="tools" toKey={({ name }) => name} />
            )}
          </Section>
        )}
      </Loaded>
      <Loaded query={models} what="Loading models">
        {({ rows }) =>
          rows.length > 0 && (
            <Section title="Models">
              <ColumnTable rows={rows} columns={modelColumns} label="models" toKey={({ name }) => name} />
            </Section>
          )
        }
      </Loaded>
    </Page>
  );
}

/** Returns the default measure: cost, unless nothing has a price. */
const usualMeasure = (rows: UsageRow[]): Measure => (rows.some(({ cost }) => cost !== null && cost > 0) ? 'cost' : 'runs');

function Filters({ wanted: { filters, set } }: { wanted: Wanted }) {
  const { data } = useRead(me.get);
  const by = USAGE_GROUPS.filter((group) => group !== 'owner' || filters.scope === 'all');
  const select = (name: string, label: string, options: Record<string, string>, fallback: string) => (
    <FilterChip
      field={{ name, label, options: Object.entries(options).map(([value, text]) => ({ value, label: text })), required: true }}
      value={filters[name] ?? fallback}
      onChange={(value) => set(name, value)}
    />
  );
  return (
    <div className="filter-bar">
      {select('days', 'Period', PERIODS, '7')}
      {select('by', 'Grouped by', Object.fromEntries(by.map((group) => [group, group])), parseFilters(filters).by)}
      {select('measure', 'Chart', CHARTS, '')}
      {data?.is_admin && select('scope', 'Runs of', { mine: 'me', all: 'everybody' }, 'mine')}
    </div>
  );
}

function Totals({ rows }: { rows: UsageRow[] }) {
  const sum = (field: keyof UsageRow) => rows.reduce((total, row) => total + Number(row[field]), 0);
  const runs = sum('runs');
  const unpriced = sum('unpriced');
  const cost = unpriced > 0 && sum('cost') === 0 ? null : sum('cost');
  const facts: [string, string][] = [
    ['Runs', formatNumber(runs)],
    ['Failed', `${formatNumber(sum('failed'))} (${formatShare(sum('failed'), runs)})`],
    ['Tokens', formatNumber(sum('total_in') + sum('total_out'))],
    [
      'Cost',
      `${formatCost({ cost })}${cost !== null && unpriced > 0 ? `, without ${formatCount(unpriced, 'run')} that lack a price` : ''}`,
    ],
  ];
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs">
      {facts.map(([label, value]) => (
        <div key={label} className="panel">
          <Text fz="1.4rem" fw={600} lh={1.2}>
            {value}
          </Text>
          {label}
        </div>
      ))}
    </SimpleGrid>
  );
}

function Groups({ by, rows }: { by: string; rows: UsageRow[] }) {
  return (
    <Section
      title={`By ${by}`}
      actions={
        <Button variant="default" onClick={() => saveText(`usage-by-${by}.csv`, toCsv(rows), 'text/csv')}>
          Download CSV
        </Button>
      }
    >
      <ColumnTable rows={rows} columns={groupColumns(by)} label={`usage by ${by}`} toKey={({ key }) => key ?? 'others'} />
    </Section>
  );
}
