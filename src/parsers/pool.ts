import type { Jobs } from './child/jobs.ts';
import { ParserFailure } from './failure.ts';
import { type ParserProcess, startProcess } from './process.ts';

type JobName = keyof Jobs;
export type JobInput<N extends JobName> = Parameters<Jobs[N]>[0];
export type JobOutput<N extends JobName> = Awaited<ReturnType<Jobs[N]>>;

export interface JobRules {
  /** The principal who needs the result: processes are shared fairly between principals. */
  owner: string;
  deadline_ms: number;
  /** How long the job may wait for a process; left out: indefinitely. */
  patience_ms?: number;
  /** True if the job is expected to take long: such jobs leave one process free for others. */
  slow?: boolean;
  /** True if the process must not be reused, because the input might take it over. */
  once?: boolean;
}

/** A pool of processes that parse all input from users or the network. */
export interface ParserPool {
  /** Rejects with a `ParserFailure`. A process that exceeds its time or memory is ended without delaying others. */
  run<N extends JobName>(job: N, input: JobInput<N>, rules: JobRules): Promise<JobOutput<N>>;
  close(): Promise<void>;
}

interface Waiting {
  job: string;
  input: unknown;
  rules: JobRules;
  start(worker: ParserProcess): void;
  refuse(reason: Error): void;
}

interface Share {
  running: number;
  waiting: number;
  /** The number of the job of this principal that was started last. */
  last_job: number;
}

/** The most jobs that one principal may have waiting. */
const MOST_WAITING = 200;
/** How long an idle process is kept. One process always stays, so that the next job need not wait for a start. */
const IDLE_MS = 60_000;

export function createParserPool({ processes, idle_ms = IDLE_MS }: { processes: number; idle_ms?: number }): ParserPool {
  const idle: ParserProcess[] = [];
  const busy = new Set<ParserProcess>();
  const queue: Waiting[] = [];
  const shares = new Map<string, Share>();
  const most = Math.max(2, processes);
  let slow = 0;
  let job_count = 0;
  let closed = false;

  const getShare = (owner: string): Share => {
    const share = shares.get(owner) ?? { running: 0, waiting: 0, last_job: 0 };
    shares.set(owner, share);
    return share;
  };
  const mayStart = ({ rules }: Waiting) =>
    (!rules.slow || slow < most - 1) && getShare(rules.owner).running < Math.ceil(most / 2);

  /** Returns the job whose owner was served longest ago; of several, the oldest. */
  function next(): Waiting | undefined {
    let best: Waiting | undefined;
    for (const one of queue) {
      if (mayStart(one) && (!best || getShare(one.rules.owner).last_job < getShare(best.rules.owner).last_job)) best = one;
    }
    if (best) queue.splice(queue.indexOf(best), 1);
    return best;
  }

  function dispatch(): void {
    while (!closed && busy.size < most) {
      const one = next();
      if (!one) return;
      const worker = idle.pop() ?? startProcess();
      busy.add(worker);
      one.start(worker);
    }
  }

  /** Puts a process back among the idle ones, which are ordered by how long they have been idle. */
  function rest(worker: ParserProcess): void {
    idle.push(worker);
    const leave = () => {
      if (idle.length < 2 || idle[0] !== worker) return;
      idle.shift();
      void worker.end();
    };
    setTimeout(leave, idle_ms).unref();
  }

  async function carryOut({ job, input, rules }: Omit<Waiting, 'start' | 'refuse'>, worker: ParserProcess): Promise<unknown> {
    const share = getShare(rules.owner);
    share.running += 1;
    share.last_job = ++job_count;
    if (rules.slow) slow += 1;
    let reusable = !rules.once;
    try {
      return await worker.run({ job, input, deadline_ms: rules.deadline_ms });
    } catch (error) {
      reusable &&= error instanceof ParserFailure && error.kind === 'refused';
      throw error;
    } finally {
      share.running -= 1;
      if (rules.slow) slow -= 1;
      if (share.running + share.waiting === 0) shares.delete(rules.owner);
      // The slot is free only after the process has ended.
      if (!reusable || closed) await worker.end();
      busy.delete(worker);
      if (reusable && !closed) rest(worker);
      dispatch();
    }
  }

  function run(job: string, input: unknown, rules: JobRules): Promise<unknown> {
    if (closed) return Promise.reject(new ParserFailure('ended', 'the service is stopping'));
    const share = getShare(rules.owner);
    if (share.waiting >= MOST_WAITING)
      return Promise.reject(new ParserFailure('busy', `${MOST_WAITING} of your texts and files are already waiting to be read`));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    let timer: NodeJS.Timeout | undefined;
    const leave = () => {
      share.waiting -= 1;
      clearTimeout(timer);
    };
    const one: Waiting = {
      job,
      input,
      rules,
      start(worker) {
        leave();
        resolve(carryOut(one, worker));
      },
      refuse(reason) {
        leave();
        reject(reason);
      },
    };
    share.waiting += 1;
    queue.push(one);
    if (rules.patience_ms !== undefined) {
      timer = setTimeout(() => {
        queue.splice(queue.indexOf(one), 1);
        one.refuse(new ParserFailure('busy', 'others are being read; try again shortly'));
      }, rules.patience_ms);
    }
    dispatch();
    return promise;
  }

  return {
    run: run as ParserPool['run'],
    async close() {
      closed = true;
      for (const one of queue.splice(0)) one.refuse(new ParserFailure('ended', 'the service is stopping'));
      await Promise.all([...idle.splice(0), ...busy].map((worker) => worker.end()));
    },
  };
}
