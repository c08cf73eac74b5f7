import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { findTemporal, startTemporal } from '../src/embedded/temporal.ts';
import { quietSdk } from '../src/temporal/worker/worker.ts';

const HELP = `node bin/perdura.mjs bench:engine-memory [--runs N] [--clients N]

Runs empty workflows of five activities against an embedded Temporal and prints its memory and the size of its file.
`;

const TASK_QUEUE = 'engine-memory';
const SAMPLES = 20;

const { values: given } = parseArgs({
  options: {
    runs: { type: 'string', default: '6000' },
    clients: { type: 'string', default: '16' },
    help: { type: 'boolean', default: false },
  },
});

async function measure(): Promise<void> {
  quietSdk('ERROR');
  const home = await mkdtemp(join(tmpdir(), 'perdura-bench-'));
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const path = process.env.TEMPORAL_CLI_PATH;
  const temporal = await startTemporal({ executable: await findTemporal({ home, log, ...(path && { path }) }), home, log });
  try {
    await loaded(temporal, join(home, 'temporal/temporal.db'));
  } finally {
    await temporal.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function loaded({ address, pid }: { address: string; pid: number }, file: string): Promise<void> {
  const native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  const worker = await Worker.create({
    connection: native,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('engine-memory-workflow.ts', import.meta.url)),
    activities: { nothing: async () => {} },
  });
  await worker.runUntil(() => load(new Client({ connection }), () => report(pid, file)));
  await connection.close();
  await native.close();
}

async function load({ workflow }: Client, sampled: () => Promise<string>): Promise<void> {
  const runs = Number(given.runs);
  const begin = performance.now();
  let started = 0;
  let ended = 0;
  const client = async () => {
    while (started < runs) {
      started += 1;
      await workflow.execute('fiveActivities', { workflowId: `run-${started}`, taskQueue: TASK_QUEUE });
      ended += 1;
      if (ended % Math.ceil(runs / SAMPLES) === 0)
        process.stdout.write(`${ended} runs  ${Math.round((performance.now() - begin) / 1000)} s  ${await sampled()}\n`);
    }
  };
  process.stdout.write(`0 runs  0 s  ${await sampled()}\n`);
  await Promise.all(Array.from({ length: Number(given.clients) }, client));
}

async function report(pid: number, file: string): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const cpu = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  const [, kb = '0'] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
  const seconds = (Number(cpu[11]) + Number(cpu[12])) / 100;
  return `${Math.round(Number(kb) / 1024)} MB  ${seconds.toFixed(1)} s CPU  file ${Math.round((await stat(file)).size / 1e6)} MB`;
}

if (given.help) process.stdout.write(HELP);
else await measure();
