import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { toRunId } from '../../../src/temporal/names.ts';
import type { TestInstallation } from '../installation.ts';

/** The histories of earlier workflow code, which today's code must be able to replay. */
export const HISTORIES = join(import.meta.dirname, '../../temporal/histories');

/** Stores the history of a run that has ended, if `RECORD_HISTORIES` is set. */
export async function recordHistory({ driver }: TestInstallation, task_id: string, name: string): Promise<void> {
  if (!process.env.RECORD_HISTORIES) return;
  await mkdir(HISTORIES, { recursive: true });
  const handle = driver.client.workflow.getHandle(toRunId(task_id));
  await handle.result().catch(() => {});
  const { events } = await handle.fetchHistory();
  const text = historyToJSON({ events: events ?? [] }).replaceAll(process.cwd(), '/app');
  await writeFile(join(HISTORIES, `${name}.json`), `${text}\n`);
}
