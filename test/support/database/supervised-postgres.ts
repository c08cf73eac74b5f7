import { startPostgres } from '../../../src/embedded/postgres.ts';
import { supervise } from '../../../src/embedded/supervision.ts';
import type { testBench } from '../harness/embedded-homes.ts';

/** Starts a Postgres under supervision; the bench ends both. */
export async function supervisedPostgres(bench: ReturnType<typeof testBench>) {
  const lines: string[] = [];
  const server = bench.keep(await startPostgres({ home: await bench.home(), log: bench.log, port: 24_532 }));
  let restarts = 0;
  const on_restart = async () => {
    restarts += 1;
  };
  const supervision = bench.keep(supervise([server], { log: (line) => lines.push(line), on_restart }));
  return { server, supervision, lines, restarts: () => restarts };
}
