/** What was found and repaired. */
export interface ReconciledTasks {
  /** Non-terminal tasks compared with the engine. */
  compared: number;
  /** Tasks without an execution, started again from their record. */
  restarted: number;
  /** Tasks whose run had ended although the task had not: now failed. */
  lost: number;
  /** Tasks whose run has ended, or is parked, further than its record: they wait for a person. */
  behind: number;
  /** Executions without a task, ended. */
  strays: number;
  /** Old records that were removed, by kind. */
  removed?: Record<string, number>;
}
