import { getPriority, setPriority } from 'node:os';
import { jobs } from './jobs.ts';

/** The niceness of parser processes: they run with lower priority than the process that answers requests. */
const NICENESS = 5;

type AnyJob = (input: unknown) => Promise<unknown>;

interface Order {
  job: keyof typeof jobs;
  input: unknown;
}

const answer = (value: unknown) => process.send?.(value);

// If the whole service already runs with low priority (systemd's `Nice=`), only root may raise it.
if (getPriority() < NICENESS) setPriority(NICENESS);
// Ctrl-C is meant for the service, which ends this process after its own work.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.on('message', async ({ job, input }: Order) => {
  try {
    answer({ value: await (jobs[job] as AnyJob)(input) });
  } catch (error) {
    answer({ refusal: error instanceof Error ? error.message : String(error) });
  }
});
answer('ready');
