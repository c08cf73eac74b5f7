import { spawn } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import { childOf } from './processes.ts';

export interface Try {
  /** The milliseconds until the service responded; `control` is the same for an idle server. */
  service: number;
  control: number;
  /** The part of the service's milliseconds in which its main thread was ready but had no processor. */
  waited: number;
}

const PROBE = `
const { parentPort, workerData } = require('node:worker_threads');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const agent = new http.Agent({ keepAlive: true });
const queued = () => {
  try {
    return Number(readFileSync(workerData.schedstat, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
};
const time = (url) => new Promise((resolve) => {
  const start = performance.now();
  http.get(url, { agent }, (answer) => answer.resume().on('end', () => resolve(performance.now() - start)))
    .on('error', () => resolve(Number.POSITIVE_INFINITY));
});
async function attempt() {
  const before = queued();
  const service = time(workerData.service).then((took) => ({ service: took, waited: queued() - before }));
  const [answered, control] = await Promise.all([service, time(workerData.control)]);
  return { ...answered, control };
}
let stopped = false;
parentPort.on('message', () => { stopped = true; });
(async () => {
  const tries = [];
  // At a steady rate, without waiting for responses, so that a long stop causes many late responses.
  while (!stopped) {
    tries.push(attempt());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const found = await Promise.all(tries);
  agent.destroy();
  parentPort.postMessage(found);
  parentPort.close();
})();`;

const CONTROL = `
const server = require('node:http').createServer((_, answer) => answer.end('ok'));
server.listen(0, '127.0.0.1', () => console.log('control at ' + server.address().port + '.'));`;

export interface Probing {
  stop(): Promise<Try[]>;
}

/** Starts an idle server in a separate process, and a thread that sends it and a service the same requests at the same time. */
export async function startProber(): Promise<{ probe(url: string, pid: number): Probing; end(): Promise<unknown> }> {
  const control = childOf(spawn(process.execPath, ['-e', CONTROL], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] }));
  await control.prints(/control at \d+\./);
  const port = /control at (\d+)\./.exec(control.output())![1];
  return {
    end: () => control.end('SIGKILL'),
    probe(url, pid) {
      const schedstat = `/proc/${pid}/task/${pid}/schedstat`;
      const workerData = { schedstat, service: `${url}/health/live`, control: `http://127.0.0.1:${port}/` };
      const prober = new Worker(PROBE, { eval: true, workerData });
      return {
        async stop() {
          const tries = new Promise<Try[]>((resolve) => prober.once('message', resolve));
          prober.postMessage('stop');
          const found = await tries;
          await prober.terminate();
          return found;
        },
      };
    },
  };
}

/**
 * Returns the tries in which the idle server was fast. In the others the machine was busy, so they do not measure the service.
 */
export const listMeasured = (tries: readonly Try[], limit_ms: number) => tries.filter(({ control }) => control <= limit_ms);

/** Returns the tries in which the service, without its wait for a processor, took longer than `limit_ms`. */
export const lateOf = (tries: readonly Try[], limit_ms: number) =>
  listMeasured(tries, limit_ms).filter(({ service, waited }) => service - waited > limit_ms);
