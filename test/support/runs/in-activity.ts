import { asyncLocalStorage, Context } from '@temporalio/activity';

interface Surroundings {
  attempt?: number;
  /** The last report of an earlier attempt. */
  details?: unknown;
  signal?: AbortSignal;
  heartbeat?(...details: unknown[]): void;
  /** The id of the workflow that it belongs to. */
  workflow_id?: string;
}

/** Does work as an attempt of an activity does, without an engine. */
export function inActivity<T>(
  { attempt = 1, details, signal = new AbortController().signal, heartbeat = () => {}, workflow_id = 'other' }: Surroundings,
  work: () => Promise<T>,
): Promise<T> {
  const info = { attempt, heartbeatDetails: details, isLocal: false, workflowExecution: { workflowId: workflow_id, runId: 'r' } };
  const context = { info, cancellationSignal: signal, heartbeat };
  return asyncLocalStorage.run(Object.assign(Object.create(Context.prototype), context), work);
}

/** Returns the error that work fails with. */
export const failureOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('it did not fail'),
    (thrown: Error) => thrown,
  );
