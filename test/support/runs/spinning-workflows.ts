import { log, sleep } from '@temporalio/workflow';

/** A workflow that never yields. */
export async function spins(): Promise<void> {
  for (;;);
}

export async function sleeps(milliseconds: number): Promise<string> {
  await sleep(milliseconds);
  return 'awake';
}

/** A workflow that logs in its first and in its last activation, not between them. */
export async function warns(): Promise<void> {
  log.warn('The first warning');
  await sleep(1);
  await sleep(1);
  log.warn('The last warning');
}
