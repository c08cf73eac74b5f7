import type { Spread } from './load.ts';
import type { Throughput } from './measure.ts';
import type { Spoken } from './streams.ts';
import type { TurnCosts } from './threads.ts';
import type { ProcessUse } from './usage.ts';

export interface Report {
  date: string;
  machine: { cpu: string; cores: number; memory_gb: number; node: string; load_before: number };
  quick: boolean;
  labels: Record<string, string>;
  sequential: Record<string, Spread>;
  throughput: Throughput[];
  first_token: { streams: number; spreads: Record<string, Spread> }[];
  idle: Record<string, ProcessUse | null>;
  idle_seconds: number;
}

const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0);
const RAW = 'raw';

/** Formats the report as Markdown: figures are compared with the raw loop's of the same run, as differences and ratios. */
export function tables(report: Report): string {
  const { machine, date, quick } = report;
  const { cpu, cores, memory_gb, node, load_before } = machine;
  return [
    `${date.slice(0, 10)} · ${cores} × ${cpu}, ${memory_gb} GB · Node ${node} · load before ${load_before}${quick ? ' · quick' : ''}`,
    `### One run after the other (3 steps, 2 tool calls, 50 tokens)\n\n${sequentialTable(report)}`,
    `### Runs a second, closed loop\n\n${throughputTable(report)}`,
    `### Time to first token (one step, the model waits 50 ms)\n\n${firstTokenTable(report)}`,
    `### Idle\n\n${idleTable(report)}`,
  ].join('\n\n');
}

const table = (head: string[], body: string[][]) =>
  [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function sequentialTable({ sequential, labels }: Report): string {
  const raw = sequential[RAW];
  const body = Object.entries(sequential).map(([name, { p50, p95 }]) => [
    labels[name] ?? name,
    ms(p50),
    ms(p95),
    raw ? ms(p50 - raw.p50) : '',
    raw ? `× ${(p50 / raw.p50).toFixed(1)}` : '',
  ]);
  return table(['', 'p50 ms', 'p95 ms', 'above raw, p50 ms', 'ratio'], body);
}

function throughputTable({ throughput, labels }: Report): string {
  const rawAt = (clients: number) => throughput.find((row) => row.subject === RAW && row.clients === clients);
  const body = throughput.map((row) => {
    const raw = rawAt(row.clients);
    const { latency_ms, cpu_ms_per_run: cpu, errors, first_error } = row;
    const used = Object.entries(cpu).map(([part, spent]) => `${part} ${spent === null ? '?' : ms(spent)}`);
    return [
      String(row.clients),
      labels[row.subject] ?? row.subject,
      row.runs_per_second.toFixed(1),
      raw ? `÷ ${(raw.runs_per_second / row.runs_per_second).toFixed(1)}` : '',
      ms(latency_ms.p50),
      ms(latency_ms.p95),
      ms(row.longest_pause_ms),
      errors ? `${errors}: ${first_error}` : '0',
      row.subject === RAW ? '' : used.join(', '),
    ];
  });
  const head = ['clients', '', 'runs/s', 'of raw', 'p50 ms', 'p95 ms', 'longest pause ms', 'errors', 'CPU ms per run'];
  return table(head, body);
}

function firstTokenTable({ first_token, labels }: Report): string {
  const body = first_token.flatMap(({ streams, spreads }) =>
    Object.entries(spreads).map(([name, { p50, p95 }]) => {
      const raw = spreads[RAW];
      return [String(streams), labels[name] ?? name, ms(p50), ms(p95), raw ? ms(p50 - raw.p50) : ''];
    }),
  );
  return table(['streams', '', 'p50 ms', 'p95 ms', 'added, p50 ms'], body);
}

/** Formats the table of streams at human pace. For each number of streams, the raw client's row is above Perdura's. */
export function streamsTable(found: readonly Spoken[]): string {
  const body = found.map(({ streams, subject, lag_ms, first_ms, missing, failed, cpu_ms_per_stream_second: cpu }) => [
    String(streams),
    subject === RAW ? 'raw client' : 'Perdura',
    ...[lag_ms.p50, lag_ms.p99, lag_ms.max, first_ms.p50, first_ms.max].map(ms),
    String(missing),
    String(failed),
    Object.entries(cpu)
      .map(([part, spent]) => `${part} ${spent === null ? '?' : ms(spent)}`)
      .join(', '),
  ]);
  const lag = ['lag p50 ms', 'p99', 'longest'];
  const first = ['first token p50 ms', 'longest'];
  return table(['streams', '', ...lag, ...first, 'tokens missing', 'runs failed', 'CPU ms a stream-second'], body);
}

/** Formats the table of the turns of one conversation. */
export function turnsTable(found: readonly TurnCosts[]): string {
  const body = found.map(({ from, to, ms: times, history_bytes }) => [
    `${from}–${to}`,
    ...[times.p50, times.p95, history_bytes.p50, history_bytes.max].map(ms),
  ]);
  return table(['turns', 'p50 ms', 'p95 ms', 'history p50 bytes', 'largest'], body);
}

function idleTable({ idle, idle_seconds }: Report): string {
  const body = Object.entries(idle).map(([part, use]) =>
    use ? [part, ms(use.memory_mb), ((use.cpu_ms / (idle_seconds * 1000)) * 100).toFixed(1)] : [part, '?', '?'],
  );
  return table(['', 'memory MB', 'CPU % of a core'], body);
}
