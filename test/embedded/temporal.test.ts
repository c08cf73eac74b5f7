import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '../../src/embedded/ports.ts';
import { endProcess, findCommand, findMark, isAlive } from '../../src/embedded/processes.ts';
import { startTemporal, type Temporal } from '../../src/embedded/temporal.ts';
import { rawRequest } from '../support/contract/raw-request.ts';
import { startAndDie, testBench } from '../support/harness/embedded-homes.ts';
import { temporalForTests } from '../support/harness/embedded-temporal.ts';
import { listeningSockets } from '../support/machine/listening-sockets.ts';
import { freePort } from '../support/machine/processes.ts';
import { until } from '../support/until.ts';

const bench = testBench();
let executable: string;
// Outside the range where other tests start to look for ports, so that a restarted server finds its ports free.
const start = async (home: string, more: Partial<Parameters<typeof startTemporal>[0]> = {}) =>
  bench.keep(await startTemporal({ executable, home, log: bench.log, port: 24_633, ui_port: 24_833, ...more }));

async function using<T>({ address }: Pick<Temporal, 'address'>, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** Starts a workflow that no worker executes; the server only has to remember it. */
const remember = (server: Pick<Temporal, 'address'>) =>
  using(server, ({ workflow }) => workflow.start('kept', { workflowId: 'kept', taskQueue: 'nobody' }));
/** A server on a home's database as Perdura started it before its queues were fair, for as long as `use` takes. */
async function withFormer(home: string, use: (server: Pick<Temporal, 'address'>) => Promise<unknown>): Promise<void> {
  await mkdir(join(home, 'temporal'));
  const port = await freePort();
  const where = ['--headless', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', join(home, 'temporal/temporal.db')];
  const server = spawn(executable, ['server', 'start-dev', ...where, '--log-level', 'error'], { stdio: 'ignore' });
  const ended = once(server, 'exit');
  try {
    const address = `127.0.0.1:${port}`;
    await until('the server answers', () => using({ address }, async () => true).catch(() => false));
    await use({ address });
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}
const recall = (server: Pick<Temporal, 'address'>) =>
  using(server, async ({ workflow }) => (await workflow.getHandle('kept').describe()).status.name);

describe('the Temporal server of an installation', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    executable = await temporalForTests();
  }, 900_000);
  afterEach(() => bench.clear());

  it('serves its web interface and the search attributes of runs, and ends when stopped', async () => {
    const server = await start(await bench.home());
    expect((await fetch(server.ui_url)).status).toBe(200);
    const { customAttributes } = await using(server, ({ connection }) =>
      connection.operatorService.listSearchAttributes({ namespace: 'default' }),
    );
    const names = ['PerduraAgent', 'PerduraModel', 'PerduraOwner', 'PerduraStatus', 'PerduraWorkflow', 'PerduraWorkflowId'];
    expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining(names));
    await server.stop();
    expect(await findMark(server.pid)).toBeUndefined();
  });

  it('keeps its workflows over a restart, at the same address', async () => {
    const home = await bench.home();
    const first = await start(home);
    await remember(first);
    await first.stop();
    const second = await start(home);
    expect(second).toMatchObject({ reused: false, address: first.address, ui_url: first.ui_url });
    expect(await recall(second)).toBe('RUNNING');
  });

  it('keeps the history of ended runs for as long as is set, also in a server that it takes over', async () => {
    const kept = (server: Temporal) =>
      using(server, async ({ workflowService }) => {
        const { config } = await workflowService.describeNamespace({ namespace: 'default' });
        return tsToMs(config?.workflowExecutionRetentionTtl) / 3_600_000;
      });
    const home = await bench.home();
    const first = await start(home);
    expect(await kept(first)).toBe(24);
    const other = await start(home, { retention_days: 0.5 });
    expect(other).toMatchObject({ reused: true, pid: first.pid });
    expect(await kept(other)).toBe(12);
    await other.stop();
    expect(await kept(await start(home, { retention_days: 3 }))).toBe(72);
  });

  it('limits what it keeps in memory of runs', async () => {
    const server = await start(await bench.home());
    // What it reports as the size of this cache is its default.
    expect(await findCommand(server.pid)).toContain('history.hostLevelCacheMaxSize=1000');
    expect((await readFile(`/proc/${server.pid}/environ`, 'utf8')).split('\0')).toContain('GOMEMLIMIT=384MiB');
  });

  it('keeps the queues of a database in which work waits, and makes those of any other fair for good', async () => {
    const home = await bench.home();
    const settings = ['enableFairness=true', 'numTaskqueueReadPartitions=1', 'numTaskqueueWritePartitions=1'];
    const isFair = async ({ pid }: Temporal) => {
      const command = await findCommand(pid);
      return settings.every((setting) => command.includes(`matching.${setting}`));
    };
    await withFormer(home, remember);
    const second = await start(home);
    expect(await isFair(second)).toBe(false);
    // The work of before is found.
    const worked = await using(second, ({ connection }) =>
      connection.withDeadline(Date.now() + 30_000, () =>
        connection.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: 'nobody' } }),
      ),
    );
    expect(worked.workflowExecution?.workflowId).toBe('kept');
    const other = await bench.home();
    await withFormer(other, async () => {});
    const third = await start(other);
    expect(await isFair(third)).toBe(true);
    // From now on, whatever waits.
    await remember(third);
    await third.stop();
    expect(await isFair(await start(other))).toBe(true);
  });

  it('restarts after kill -9 without losing data', async () => {
    const home = await bench.home();
    const first = await start(home);
    await remember(first);
    process.kill(first.pid, 'SIGKILL');
    const second = await start(home);
    expect(second.reused).toBe(false);
    expect(await recall(second)).toBe('RUNNING');
  });

  it('is restarted with its data at its address, and the end of its log shows why it does not start', async () => {
    const server = await start(await bench.home());
    await remember(server);
    const kill = async () => {
      process.kill(server.pid, 'SIGKILL');
      await until('the server is down', async () => !(await server.isUp()));
    };
    const { pid } = server;
    await kill();
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await recall(server)).toBe('RUNNING');
    await kill();
    const port = Number(server.address.split(':')[1]);
    await until('the port is free', async () => (await findFreePort(port)) === port);
    const blocker = createServer().listen(port, '127.0.0.1');
    await once(blocker, 'listening');
    bench.keep({ stop: async () => void blocker.close() });
    await expect(server.restart()).rejects.toThrow(
      /^Temporal did not start:\n.*address already in use.*\nIts log: .*\/temporal\/server\.log$/s,
    );
  });

  it('replaces a server that was started with other settings, and one that does not answer', async () => {
    const [home, lines] = [await bench.home(), [] as string[]];
    const log = (line: string) => lines.push(line);
    const first = await start(home, { memory_mib: 383 });
    await remember(first);
    const second = await start(home, { log });
    expect(second).toMatchObject({ reused: false });
    process.kill(second.pid, 'SIGSTOP');
    const third = await start(home, { log });
    expect(third).toMatchObject({ reused: false });
    expect(lines).toEqual([
      `Temporal, process ${first.pid}, has other settings; restarting it`,
      `Temporal, process ${second.pid}, does not answer; restarting it`,
    ]);
    expect(await recall(third)).toBe('RUNNING');
  });

  it('leaves the server of the home that this one is a copy of alone, and starts its own', async () => {
    const [home, copy] = [await bench.home(), await bench.home()];
    const first = await start(home);
    await remember(first);
    await cp(home, copy, { recursive: true });
    const second = await start(copy);
    expect(second.reused).toBe(false);
    expect(second.address).not.toBe(first.address);
    expect(await recall(first)).toBe('RUNNING');
    expect((await start(home)).reused).toBe(true);
  });

  it('leaves a server alone whose home was replaced by a copy, and starts its own on the copy', async () => {
    const [home, copy] = [await bench.home(), await bench.home()];
    const first = await start(home);
    await first.stop();
    await cp(home, copy, { recursive: true });
    const left = await startAndDie('temporal', home, executable);
    const running = (await findMark(left.pid))!;
    bench.keep({ stop: () => endProcess(running, 1_000) });
    await remember({ address: left.url });
    // The record of that server comes with the copy, as from a backup of a running home.
    await cp(join(home, 'temporal/server.json'), join(copy, 'temporal/server.json'));
    await rm(home, { recursive: true });
    await rename(copy, home);
    const second = await start(home);
    expect(second).toMatchObject({ reused: false });
    expect(second.pid).not.toBe(left.pid);
    await expect(recall(second)).rejects.toThrow();
    expect(await isAlive(running)).toBe(true);
  });

  it('takes over the server of a killed process', async () => {
    const home = await bench.home();
    const left = await startAndDie('temporal', home, executable);
    await remember({ address: left.url });
    const taken = await start(home);
    expect(taken).toMatchObject({ reused: true, pid: left.pid, address: left.url });
    expect(await recall(taken)).toBe('RUNNING');
    await taken.stop();
    expect(await findMark(left.pid)).toBeUndefined();
  });

  it('runs next to the server of another installation', async () => {
    const [one, other] = await Promise.all([start(await bench.home()), start(await bench.home())]);
    await remember(one);
    await expect(recall(other)).rejects.toThrow();
    expect(other.ui_url).not.toBe(one.ui_url);
  });

  it('lets no foreign name and no page of another site read or terminate a run', async () => {
    const server = await start(await bench.home());
    await remember(server);
    const { port } = new URL(server.ui_url);
    const runs = `${server.ui_url}/api/v1/namespaces/default/workflows`;
    const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const asked = async (headers: Record<string, string>) => (await rawRequest(runs, { headers })).status;
    // The interface starts a moment before it has a connection to the server.
    await expect.poll(() => asked(page), { timeout: 10_000 }).toBe(200);
    expect(await asked({ host: `rebound.example:${port}` })).toBe(421);
    expect(await asked({ host: `127.0.0.1.rebound.example:${port}`, ...page })).toBe(421);
    expect(await asked({ origin: 'http://rebound.example' })).toBe(403);
    expect(await asked({ origin: 'null' })).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' })).toBe(403);
    expect(await asked({ ...link, 'sec-fetch-dest': 'iframe' })).toBe(403);
    expect([await asked(link), await asked(page), await asked({ host: `localhost:${port}` })]).toEqual([200, 200, 200]);

    const shown = await rawRequest(server.ui_url);
    expect(shown.headers).toMatchObject({ 'x-frame-options': 'DENY', 'content-security-policy': "frame-ancestors 'none'" });
    const cookie = String(shown.headers['set-cookie']).split(';')[0]!;
    const token = { cookie, 'x-csrf-token': cookie.split('=')[1]!, 'content-type': 'application/json' };
    const terminate = (headers: Record<string, string>) =>
      rawRequest(`${runs}/kept/terminate`, { method: 'POST', headers: { ...token, ...headers }, body: '{}' });
    const foreign: Record<string, string>[] = [{ host: 'rebound.example', ...page }, { origin: 'http://127.0.0.1:1' }, link];
    for (const headers of foreign) {
      expect((await terminate(headers)).status).toBeGreaterThanOrEqual(400);
      expect(await recall(server)).toBe('RUNNING');
    }
    expect((await terminate({ ...page, origin: server.ui_url })).status).toBe(200);
    expect(await recall(server)).toBe('TERMINATED');
  });

  it.runIf(process.platform === 'linux')(
    'answers a foreign name on none of its ports, so far as a page can find them',
    async () => {
      const server = await start(await bench.home());
      const answering: string[] = [];
      const sockets = await listeningSockets(server.pid);
      expect(sockets.map(({ port }) => port)).toContain(Number(server.address.split(':')[1]));
      for (const { address, port } of sockets) {
        expect(address).toMatch(/^127\./);
        // With sixteen million addresses times all ports, no page finds the interface behind the guard.
        if (address !== '127.0.0.1') continue;
        for (const path of ['/', '/api/v1/namespaces', '/metrics']) {
          const { status } = await rawRequest(`http://${address}:${port}${path}`, { headers: { host: 'rebound.example' } });
          if (status === 200) answering.push(path);
        }
      }
      // The server cannot switch off its metrics; they contain no prompt and are read-only.
      expect(answering).toEqual(['/metrics']);
    },
  );
});
