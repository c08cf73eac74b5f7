import type { UsageRow } from '../../contracts/usage.ts';
import { formatMoney, formatNumber } from '../ui/figures.ts';

/** The measures that the chart can show of each group; null: unknown, which has no bar. Only some have parts of one. */
export const MEASURES = {
  cost: { label: 'cost', of: (row: UsageRow) => row.cost, show: formatMoney, has_parts: true },
  runs: { label: 'runs', of: (row: UsageRow) => row.runs, show: formatNumber, has_parts: false },
  failed: { label: 'failed runs', of: (row: UsageRow) => row.failed, show: formatNumber, has_parts: false },
  tokens: { label: 'tokens', of: (row: UsageRow) => row.total_in + row.total_out, show: formatNumber, has_parts: false },
} as const;
export type Measure = keyof typeof MEASURES;

export const formatName = ({ key, label }: Pick<UsageRow, 'key' | 'label'>): string =>
  key === null ? 'all others' : (label ?? (key ? `deleted (${key.slice(-8)})` : 'none'));

const OTHERS = 'others';
const toSeriesName = (key: string | null) => (key === null ? OTHERS : `group ${key}`);
const COLOURS = 6;

/** Returns the token with the colour of a series. */
const findColour = (name: string, index: number) => `var(--series-${name === OTHERS ? 'rest' : (index % COLOURS) + 1})`;

interface Bars {
  /** One object for each moment: `at`, and each group's measure under the name of its series. */
  data: Record<string, string | number>[];
  series: { name: string; label: string; color: string }[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface Report {
  from: string;
  to: string;
  /** The rows; at least one. */
  rows: UsageRow[];
}

/** Builds the bars of a chart for a whole period, including hours or days in which no run ended. */
export function buildBars({ from, to, rows }: Report, measure: Measure, interval: 'hour' | 'day'): Bars {
  const keys = [...new Set(rows.map(({ key }) => key))].sort((a, b) => Number(a === null) - Number(b === null));
  const series = keys.map((key, index) => {
    const name = toSeriesName(key);
    return { name, label: formatName(rows.find((row) => row.key === key)!), color: findColour(name, index) };
  });
  const bars = new Map<string, Record<string, string | number>>();
  const at = (moment: string) => {
    const bar = bars.get(moment) ?? { at: moment };
    bars.set(moment, bar);
    return bar;
  };
  const moments = rows.map((row) => Date.parse(row.at!));
  const step = interval === 'hour' ? HOUR_MS : DAY_MS;
  const first = moments[0]! - Math.floor((moments[0]! - Date.parse(from)) / step) * step;
  for (let moment = first; moment < Date.parse(to); moment += step) at(findNearestMoment(moment, moments, step));
  for (const row of rows) {
    const value = MEASURES[measure].of(row);
    if (value !== null) at(row.at!)[toSeriesName(row.key)] = value;
  }
  return { data: [...bars.values()].sort((a, b) => String(a.at).localeCompare(String(b.at))), series };
}

/** Finds the moment that the service named, if there is one: a day in which summer time begins or ends has 23 or 25 hours. */
function findNearestMoment(moment: number, moments: number[], step: number): string {
  const nearest = moments.find((one) => Math.abs(one - moment) < step / 2);
  return new Date(nearest ?? moment).toISOString();
}

/** Returns the decimals that the marks of an axis need, so that all have as many: it has four steps, whole ones from 1 on. */
export function countMarkDecimals(bars: Bars['data']): number {
  const heights = bars.map(({ at: _, ...parts }) => Object.values(parts).reduce<number>((sum, part) => sum + Number(part), 0));
  const step = Math.max(...heights) / 4;
  return step > 0 && step < 1 ? 1 - Math.floor(Math.log10(step)) : 0;
}
