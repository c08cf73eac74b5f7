export interface Family {
  name: string;
  type: string;
  help: string;
}

/** The metrics that a process reports in Prometheus' text format. */
export interface Metrics {
  families: Family[];
  /** The value of a series by its name and labels, such as `a_total{b="c"}`, in the order in which they are reported. */
  series: Map<string, number>;
  /** Returns the sum of the series of a name with these labels, whatever other labels they have. */
  sum(name: string, labels?: Record<string, string>): number;
}

/** Reads the metrics of a process; throws unless they are served. */
export async function metricsOf(url: string, token?: string): Promise<Metrics> {
  const reply = await fetch(`${url}/metrics`, token ? { headers: { authorization: `Bearer ${token}` } } : {});
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${url}/metrics answered ${reply.status}: ${text}`);
  return parsedMetrics(text);
}

export function parsedMetrics(text: string): Metrics {
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]));
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    if (name) series.set(name, Number(value));
  }
  return {
    families: types.map(([, name = '', type = '']) => ({ name, type, help: helps.get(name) ?? '' })),
    series,
    sum(name, labels = {}) {
      const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      const found = [...series].filter(
        ([key]) => key.split('{')[0] === name && wanted.every((pair) => labelsIn(key).includes(pair)),
      );
      return found.reduce((total, [, value]) => total + value, 0);
    },
  };
}

const labelsIn = (key: string): string[] => key.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? [];

/** Returns what `promtool check metrics` would report about these names, types and helps. */
export function lintOf({ families, series }: Metrics): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { name, type, help } of families) {
    if (seen.has(name)) problems.push(`${name} is declared twice`);
    seen.add(name);
    if (help === '') problems.push(`${name} has no help`);
    if (type === 'counter' && !name.endsWith('_total')) problems.push(`${name} is a counter without _total`);
    if (type !== 'counter' && name.endsWith('_total')) problems.push(`${name} ends with _total and is a ${type}`);
    if (/_(?:count|sum|bucket)$/.test(name)) problems.push(`${name} has the ending of a part of a histogram`);
    if (/milliseconds|minutes|hours|megabytes|kilobytes/.test(name)) problems.push(`${name} has a unit that is not a base unit`);
    if (/[A-Z]/.test(name)) problems.push(`${name} is not in lower case`);
  }
  for (const key of series.keys()) {
    const name = (key.split('{')[0] as string).replace(/_(?:bucket|sum|count)$/, '');
    if (!seen.has(name) && !seen.has(key.split('{')[0] as string)) problems.push(`${key} has no type`);
  }
  return problems;
}
