import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Definition } from '../../domain/definition.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';

export interface AdmissionPorts {
  runs: Pick<RunStore, 'publish'>;
  /** Reserves a request within the provider's rate limit. Returns 0, or the milliseconds to wait before asking again. */
  admit(provider: Definition['provider']): Promise<number>;
  /** Returns a slot that `admit` has reserved and nothing used. */
  giveBack(provider: Definition['provider']): Promise<void>;
  now(): string;
}

/** Throws if the provider's rate is used up: the engine then waits, so no worker slot is held. This is not an error. */
export async function requireAdmission(
  ports: AdmissionPorts,
  run: OpenRun,
  { provider, step }: { provider: Definition['provider']; step: number },
): Promise<void> {
  const wait_ms = await ports.admit(provider);
  if (wait_ms === 0) return;
  const message = `The provider's requests_per_minute are used up; trying again in ${(wait_ms / 1000).toFixed(1)} s`;
  const { log } = createTaskEvents(run.task_id, ports.now);
  if (activityInfo().attempt === 1) await ports.runs.publish(run, [log('rate_limited', message, { step, wait_ms })]);
  throw ApplicationFailure.create({
    message,
    type: 'rate_limited',
    nextRetryDelay: wait_ms,
    category: ApplicationFailureCategory.BENIGN,
  });
}
