import { startPostgres } from '../../../src/embedded/postgres.ts';
import { startTemporal } from '../../../src/embedded/temporal.ts';

/** Starts a server, prints its pid and waits to be killed. */
const [kind, home = '', executable = ''] = process.argv.slice(2);
const log = () => {};

if (kind === 'postgres') {
  const { pid, url } = await startPostgres({ home, log });
  console.log(JSON.stringify({ pid, url }));
} else {
  const { pid, address } = await startTemporal({ executable, home, log });
  console.log(JSON.stringify({ pid, url: address }));
}
setInterval(() => {}, 60_000);
