import type { RunOfSecrets } from '../../store/runs/tasks.ts';

/** The known secrets of runs. They are redacted from every error thrown by the work, since it becomes part of the engine's history. */
export interface RunSecrets {
  /** Does a run's work. `run`: the run's record, if it has just been read. */
  during<T>(task_id: string, work: () => Promise<T>, run?: RunOfSecrets): Promise<T>;
  /** Does work that belongs to no run. */
  runInNewScope<T>(work: () => Promise<T>): Promise<T>;
}
