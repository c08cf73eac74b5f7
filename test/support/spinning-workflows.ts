import { log, sleep } from '@temporalio/workflow';

/** Never yields. */
export async function spins(): Promise<void> {
  for (;;);
}

export async function sleeps(milliseconds: number): Promise<string> {
  await sleep(milliseconds);
  return 'awake';
}

/** Logs in its first and in its last activation, not between them. */
export async function warns(): Promise<void> {
  log.warn('The first warning');
  await sleep(1);
  await sleep(1);
  log.warn('The last warning');
}
