import { sleep } from '@temporalio/workflow';

/** Never yields. */
export async function spins(): Promise<void> {
  for (;;);
}

export async function sleeps(milliseconds: number): Promise<string> {
  await sleep(milliseconds);
  return 'awake';
}
