/** What is known of the secrets of runs. An error that leaves the work holds none of them: it becomes part of the engine's history. */
export interface RunSecrets {
  /** Does a run's work. */
  during<T>(task_id: string, work: () => Promise<T>): Promise<T>;
  /** Does work that belongs to no run. */
  fresh<T>(work: () => Promise<T>): Promise<T>;
}
