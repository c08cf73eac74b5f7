import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** Runs as many activities as a run of three steps and two calls. */
export async function fiveActivities(): Promise<void> {
  for (let count = 0; count < 5; count += 1) await nothing();
}
