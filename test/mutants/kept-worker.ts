import { ForksPoolWorker, type PoolOptions } from 'vitest/node';

type Listener = (...values: any[]) => void;

/** A process of Vitest that outlives the run it was started for: to start one and to load the product takes longer than most files. */
class KeptWorker extends ForksPoolWorker {
  override readonly name = 'kept';
  is_running = false;
  /** Those of the current run. */
  private listeners: [string, Listener][] = [];

  override on(event: string, listener: Listener): void {
    super.on(event, listener);
    this.listeners.push([event, listener]);
  }

  override async start(): Promise<void> {
    if (this.is_running) return;
    await super.start();
    this.is_running = true;
    super.on('exit', () => (this.is_running = false));
  }

  override async stop(): Promise<void> {
    for (const [event, listener] of this.listeners.splice(0)) super.off(event, listener);
  }

  async end(): Promise<void> {
    if (this.is_running) await super.stop();
  }
}

/** Keeps one process for each project. What tests left in it is there in the next run: end it when that may matter. */
export function keepWorkers() {
  const kept = new Map<PoolOptions['project'], KeptWorker>();
  return {
    pool: {
      name: 'kept',
      createPoolWorker(options: PoolOptions): KeptWorker {
        const known = kept.get(options.project);
        if (known?.is_running) return known;
        const worker = new KeptWorker(options);
        kept.set(options.project, worker);
        return worker;
      },
    },
    async end(): Promise<void> {
      await Promise.all([...kept.values()].map((worker) => worker.end()));
      kept.clear();
    },
  };
}
