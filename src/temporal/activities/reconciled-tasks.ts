/** The result of comparing tasks with the engine. */
export interface ReconciledTasks {
  /** Number of non-terminal tasks that were compared with the engine. */
  compared: number;
  /** Number of tasks without an execution, which were started again from their record. */
  restarted: number;
  /** Number of tasks whose run had ended although the task had not; they have now failed. */
  lost: number;
  /** Number of tasks whose run has ended, or is parked, further than its record; they wait for a person. */
  behind: number;
  /** Number of executions without a task, which were ended. */
  strays: number;
  /** Numbers of old records that were removed, by kind. */
  removed?: Record<string, number>;
}
