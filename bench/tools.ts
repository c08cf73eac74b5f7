/**
 * Measures the cost of a tool call: compares the sandboxed runner with a bare interpreter per call, in the same run. `node
 * bench/tools.ts [calls]`
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { startToolRunner, type ToolRunnerOptions } from '../src/toolrunner/index.ts';

const CALLS = Number(process.argv[2] ?? 200);
const AT_ONCE = 4;
const PAUSE_MS = 15;
const SOURCE = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const NAIVE =
  'import json, sys\njob = json.load(sys.stdin)\nscope = {}\nexec(job["source"], scope)\nprint(json.dumps({"result": scope["add"](**job["arguments"])}))';

interface Contender {
  name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
  /** A mark in the command lines of its resident processes. */
  mark: string;
}

async function runner(name: string, options: ToolRunnerOptions): Promise<Contender | null> {
  const started = await startToolRunner(options);
  if (started.isolation === 'refused') {
    console.log(`${name}: not available here (${started.isolation_reason})`);
    await started.close();
    return null;
  }
  const call = { name: 'add', source: SOURCE, arguments: { a: 1, b: 2 }, env: {}, call_key: 'bench' };
  return {
    name,
    mark: `perdura-tools-${process.pid}-`,
    async call() {
      const answer = await started.run(call, new AbortController().signal);
      if (answer.result !== '{"result": 3}') throw new Error(answer.result);
    },
    close: () => started.close(),
  };
}

/** The naive solution: no limits, no isolation, and the whole environment. */
function naive(python: string): Contender {
  return {
    name: 'naive spawn, unconfined',
    mark: '',
    async call() {
      const child = spawn(python, ['-c', NAIVE], { stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdin.end(JSON.stringify({ source: SOURCE, arguments: { a: 1, b: 2 } }));
      if (JSON.parse(await text(child.stdout)).result !== 3) throw new Error('wrong answer');
    },
    close: async () => {},
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function latencies(call: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let round = 0; round < CALLS; round += 1) {
    const began = performance.now();
    await call();
    taken.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return taken.sort((a, b) => a - b);
}

async function throughput(call: () => Promise<unknown>): Promise<number> {
  let left = CALLS * 2;
  const began = performance.now();
  const work = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return (CALLS * 2 * 1000) / (performance.now() - began);
}

/** Returns the proportional memory, in MB, and the number of the processes that wait for calls. */
function memory(mark: string): { mb: number; processes: number } {
  let [kb, processes] = [0, 0];
  for (const pid of mark ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)) continue;
      kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
      processes += 1;
    } catch {
      // The process has ended meanwhile, or belongs to another user.
    }
  }
  return { mb: kb / 1024, processes };
}

async function measure(contender: Contender) {
  await contender.call();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { mb, processes } = memory(contender.mark);
  const sorted = await latencies(contender.call);
  const per_second = await throughput(contender.call);
  await contender.close();
  return {
    name: contender.name,
    'min ms': sorted[0]?.toFixed(2),
    'p50 ms': quantile(sorted, 0.5).toFixed(2),
    'p99 ms': quantile(sorted, 0.99).toFixed(2),
    [`calls/s at ${AT_ONCE}`]: per_second.toFixed(0),
    'waiting processes': processes,
    'their memory MB': mb.toFixed(0),
    'each MB': processes ? (mb / processes).toFixed(1) : '-',
  };
}

async function inspection() {
  const started = await startToolRunner({ isolation: 'none' });
  const sorted = await latencies(() => started.inspect('add', SOURCE));
  await started.close();
  return {
    name: 'inspection',
    'min ms': sorted[0]?.toFixed(2),
    'p50 ms': quantile(sorted, 0.5).toFixed(2),
    'p99 ms': quantile(sorted, 0.99).toFixed(2),
  };
}

const python = process.argv[3] ?? 'python3';
const contenders: (() => Promise<Contender | null>)[] = [
  () => runner('sandboxed: namespaces', { tier: 'namespaces', python }),
  () => runner('sandboxed: Landlock', { tier: 'landlock', python }),
  () => runner('fresh process, supervised, unconfined', { isolation: 'none', python }),
  async () => naive(python),
];
const rows: object[] = [];
for (const open of contenders) {
  const contender = await open();
  if (contender) rows.push(await measure(contender));
}
rows.push(await inspection());
console.table(rows);
