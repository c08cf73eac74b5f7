/** Formats `940 ms`, `59.9 s`, `1 min 0 s`, `2 h 5 min`; a dash if unknown. Rounds before it splits, so that no part reads 60. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '—';
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const formatNumber = (value: number) => value.toLocaleString('en');

/** The number up to which the tasks of a list are counted: beyond it, it is enough to know that there are many. */
export const COUNTED_TASKS = 1_000;

/** Formats `12 %` of a whole, or `0.4 %` below one percent. A share that is not zero never reads as zero. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  if (percent < 0.1) return 'under 0.1 %';
  return `${percent < 1 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** Formats `66.6 %`. Rounds down, so that only a whole reads 100 %. */
export const formatRate = (part: number) => `${Math.floor(part * 1_000 + 1e-6) / 10} %`;

const SMALLEST = 0.00001;
const CENTS: Intl.NumberFormatOptions = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
const PARTS_OF_CENTS: Intl.NumberFormatOptions = { ...CENTS, maximumFractionDigits: 4 };

/**
 * Formats US dollars: whole cents, with more digits below one dollar, or with this many decimals. A sum that is not zero never
 * reads as zero.
 */
export function formatMoney(value: number, decimals?: number): string {
  if (value > 0 && value < SMALLEST) return `under $${SMALLEST.toFixed(5)}`;
  if (decimals !== undefined)
    return `$${new Intl.NumberFormat('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(value)}`;
  if (value === 0) return '$0';
  const small = value.toFixed(5);
  if (Number(small) < 0.01) return `$${small}`;
  return `$${new Intl.NumberFormat('en', value < 1 ? PARTS_OF_CENTS : CENTS).format(value)}`;
}

interface Spent {
  cost: number | null;
  total_in: number;
  total_out: number;
}

/** Formats the tokens of a run or step. If the run was halted before an endpoint reported them, they are an estimate. */
export const formatTokens = ({ total_in, total_out, estimated }: Omit<Spent, 'cost'> & { estimated?: boolean | undefined }) =>
  `${estimated ? 'about ' : ''}${formatNumber(total_in)} in, ${formatNumber(total_out)} out`;

/** Formats `24 tokens`, or `about 24 tokens` for an estimate. */
export const formatTokenCount = ({ total_in, total_out, estimated }: Parameters<typeof formatTokens>[0]) =>
  `${estimated ? 'about ' : ''}${formatCount(total_in + total_out, 'token')}`;

interface Costs extends Pick<Spent, 'cost'> {
  /** False: a part has no price, and is missing in the cost. Absent: true. */
  priced?: boolean | undefined;
}

/** Returns the known part of a cost; null: nobody knows any of it, because the models have no price. */
export const findKnownCost = ({ cost, priced = true }: Costs): number | null => (cost === 0 && !priced ? null : cost);

/** Formats a cost in US dollars, as far as it is known. */
export function formatCost({ cost, priced = true }: Costs, decimals?: number): string {
  const known = findKnownCost({ cost, priced });
  if (known === null) return 'unknown';
  return `${formatMoney(known, decimals)}${priced ? '' : ', without models that have no price'}`;
}

/** Formats the cost of runs or a step; a dash if no model has answered, because then there is nothing to pay for. */
export const formatRunCost = (usage: Costs & Omit<Spent, 'cost'>, decimals?: number): string =>
  usage.cost === 0 && usage.total_in + usage.total_out === 0 ? '—' : formatCost(usage, decimals);

/** Counts the decimals with which a cost is shown by itself. */
export function countDecimals(costs: Costs): number {
  const known = findKnownCost(costs);
  return known === null ? 0 : (formatMoney(known).split('.')[1] ?? '').length;
}

/** Formats `1 tool` or `2 tools`. */
export const formatCount = (number: number, noun: string) => `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;

const UNITS: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ['minute', 60, 60],
  ['hour', 3_600, 24],
  ['day', 86_400, Number.POSITIVE_INFINITY],
];

/**
 * Formats `in 5 minutes` or `2 hours ago`. Counts hours and days, because a time a day away may be today, tomorrow or the day
 * after.
 */
export function formatDistance(at: string, now = Date.now()): string {
  const seconds = (Date.parse(at) - now) / 1000;
  if (Math.abs(seconds) < 60) return seconds > 5 ? 'in under a minute' : 'just now';
  const [unit, size] = UNITS.find(([, length, most]) => Math.round(Math.abs(seconds) / length) < most)!;
  return new Intl.RelativeTimeFormat('en').format(Math.round(seconds / size), unit);
}
