import { BarChart } from '@mantine/charts';
import { formatAxisMark } from '../ui/time.tsx';
import { buildBars, MEASURES, type Measure, type Report } from './measures.ts';
import '@mantine/charts/styles.css';

const COLOURS = ['blue.6', 'teal.6', 'grape.6', 'orange.6', 'cyan.6', 'pink.6', 'gray.6'];

interface ChartProps {
  report: Report;
  measure: Measure;
  interval: 'hour' | 'day';
}

export default function Chart({ report, measure, interval }: ChartProps) {
  const { data, series } = buildBars(report, measure, interval);
  const { label, show } = MEASURES[measure];
  return (
    <div className="panel" role="img" aria-label={`Chart: ${label} by ${interval}. The table below has the same figures.`}>
      <BarChart
        h={240}
        type="stacked"
        data={data.map(({ at, ...bar }) => ({ ...bar, at: formatAxisMark(at as string, interval) }))}
        dataKey="at"
        series={series.map((one, index) => ({ ...one, color: COLOURS[index % COLOURS.length]! }))}
        valueFormatter={show}
        withLegend
        barProps={{ isAnimationActive: false }}
      />
    </div>
  );
}
