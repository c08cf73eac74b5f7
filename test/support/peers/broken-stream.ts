import type { ChildProcess } from 'node:child_process';
import { expect } from 'vitest';
import type { TestInstallation } from '../installation.ts';
import { childOf } from '../machine/processes.ts';
import { startDroppingProxy } from './dropping-proxy.ts';
import { says } from './model-server.ts';

/** Text that would end a line, a frame or a number if it were not escaped. */
export const TRICKY = 'Eins\r\n\r\ndata: x\n\nid: 99 € \u2028 drei.';

/**
 * Starts a program that prompts a workflow at an address and prints each event as JSON, then a last line. Its connections are
 * dropped in the middle of the answer, but it must print every recorded event. Returns the last line, and the names of all
 * agents.
 */
export async function loseConnection(
  here: TestInstallation,
  workflow_id: string,
  start: (url: string) => ChildProcess,
): Promise<{ last: unknown; names: string[] }> {
  const proxy = await startDroppingProxy(here.url);
  const gate = Promise.withResolvers<void>();
  here.model.script(says(TRICKY, { until: gate.promise }));
  const child = childOf(start(proxy.url));
  try {
    await child.prints(/message_delta/);
    const { opened } = proxy.counts();
    proxy.drop();
    await expect.poll(() => proxy.counts().opened).toBeGreaterThan(opened);
    gate.resolve();
    expect([await child.closed, child.output()]).toEqual([[0, null], expect.any(String)]);
  } finally {
    await proxy.stop();
  }
  const lines = child
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [task] = (await here.alice.get('/api/tasks')).body as unknown as { id: string }[];
  const recorded = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task?.id}`);
  expect(lines.slice(0, -1)).toEqual(recorded);
  const agents = (await here.alice.get('/api/agents')).body as unknown as { name: string }[];
  return { last: lines.at(-1), names: agents.map(({ name }) => name) };
}
