import { takeCoverage } from 'node:v8';
import { startPostgres } from '../../../src/embedded/postgres.ts';
import { startTemporal } from '../../../src/embedded/temporal.ts';

/**
 * Starts a server, prints its pid and waits to be killed. What it executed is written before that, if it is measured: a process that
 * is killed writes nothing.
 */
const [kind, home = '', executable = ''] = process.argv.slice(2);
const log = () => {};

if (kind === 'postgres') {
  const { pid, url } = await startPostgres({ home, log });
  show({ pid, url });
} else {
  const { pid, address } = await startTemporal({ executable, home, log });
  show({ pid, url: address });
}

function show(server: { pid: number; url: string }): void {
  if (process.env.NODE_V8_COVERAGE) takeCoverage();
  console.log(JSON.stringify(server));
}
setInterval(() => {}, 60_000);
