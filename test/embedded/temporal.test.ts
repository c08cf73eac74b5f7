import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { markOf } from '../../src/embedded/processes.ts';
import { startTemporal, type Temporal } from '../../src/embedded/temporal.ts';
import { startAndDie, testBench } from '../support/embedded-homes.ts';
import { temporalForTests } from '../support/embedded-temporal.ts';

const bench = testBench();
let executable: string;
// Not where installations of other tests begin to look: a server that is started again finds its ports free.
const start = async (home: string) =>
  bench.keep(await startTemporal({ executable, home, log: bench.log, port: 24_633, ui_port: 24_833 }));

async function using<T>({ address }: Pick<Temporal, 'address'>, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** No worker will ever take it: it only has to be remembered. */
const remember = (server: Pick<Temporal, 'address'>) =>
  using(server, ({ workflow }) => workflow.start('kept', { workflowId: 'kept', taskQueue: 'nobody' }));
const recall = (server: Pick<Temporal, 'address'>) =>
  using(server, async ({ workflow }) => (await workflow.getHandle('kept').describe()).status.name);

describe('the Temporal server of an installation', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    executable = await temporalForTests();
  }, 900_000);
  afterEach(() => bench.clear());

  it('answers with its web interface and the search attributes of runs, and is gone once stopped', async () => {
    const server = await start(await bench.home());
    expect((await fetch(server.ui_url)).status).toBe(200);
    const { customAttributes } = await using(server, ({ connection }) =>
      connection.operatorService.listSearchAttributes({ namespace: 'default' }),
    );
    const names = ['PerduraAgent', 'PerduraModel', 'PerduraOwner', 'PerduraStatus', 'PerduraWorkflow', 'PerduraWorkflowId'];
    expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining(names));
    await server.stop();
    expect(await markOf(server.pid)).toBeUndefined();
  });

  it('remembers over a restart what it was running, at the same address', async () => {
    const home = await bench.home();
    const first = await start(home);
    await remember(first);
    await first.stop();
    const second = await start(home);
    expect(second).toMatchObject({ reused: false, address: first.address, ui_url: first.ui_url });
    expect(await recall(second)).toBe('RUNNING');
  });

  it('starts again after kill -9 and has lost nothing', async () => {
    const home = await bench.home();
    const first = await start(home);
    await remember(first);
    process.kill(first.pid, 'SIGKILL');
    const second = await start(home);
    expect(second.reused).toBe(false);
    expect(await recall(second)).toBe('RUNNING');
  });

  it('takes over the server of a process that was killed', async () => {
    const home = await bench.home();
    const left = await startAndDie('temporal', home, executable);
    await remember({ address: left.url });
    const taken = await start(home);
    expect(taken).toMatchObject({ reused: true, pid: left.pid, address: left.url });
    expect(await recall(taken)).toBe('RUNNING');
    await taken.stop();
    expect(await markOf(left.pid)).toBeUndefined();
  });

  it('runs beside the server of another installation', async () => {
    const [one, other] = await Promise.all([start(await bench.home()), start(await bench.home())]);
    await remember(one);
    await expect(recall(other)).rejects.toThrow();
    expect(other.ui_url).not.toBe(one.ui_url);
  });
});
