import { BarChart } from '@mantine/charts';
import { formatMoney } from '../ui/figures.ts';
import { formatAxisMark } from '../ui/time.tsx';
import { buildBars, countMarkDecimals, MEASURES, type Measure, type Report } from './measures.ts';
import '@mantine/charts/styles.css';

interface ChartProps {
  report: Report;
  measure: Measure;
  interval: 'hour' | 'day';
}

export default function Chart({ report, measure, interval }: ChartProps) {
  const { data, series } = buildBars(report, measure, interval);
  const { label, show, has_parts } = MEASURES[measure];
  const decimals = countMarkDecimals(data);
  return (
    <div className="panel" role="img" aria-label={`Chart: ${label} by ${interval}. The table below has the same figures.`}>
      <BarChart
        h={240}
        type="stacked"
        data={data.map(({ at, ...bar }) => ({ ...bar, at: formatAxisMark(at as string, interval) }))}
        dataKey="at"
        series={series}
        valueFormatter={show}
        yAxisProps={{
          allowDecimals: has_parts,
          ...(has_parts && { tickFormatter: (mark: number) => formatMoney(mark, decimals) }),
        }}
        textColor="var(--ink-dim)"
        gridColor="var(--line)"
        cursorFill="var(--surface-hover)"
        withLegend
        barProps={{ isAnimationActive: false }}
      />
    </div>
  );
}
