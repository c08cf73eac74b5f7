import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createMcpState } from '../../src/tools/mcp/state.ts';
import type { StartConfined } from '../../src/tools/mcp/stdio.ts';

it('a process is ended when another worker deletes its state, and one that starts afterwards is not', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'perdura-state-'));
  const options = { parent, limits: { bytes: 1_000, files: 10 } };
  const [worker, other] = [createMcpState(options), createMcpState(options)];
  const place = { server_id: randomUUID(), principal: 'local:alice' };
  const killed: string[] = [];
  async function startProcess(name: string) {
    const exit = Promise.withResolvers<number>();
    const kill = async () => {
      killed.push(name);
      exit.resolve(0);
    };
    const startFake = (async () => ({ exit: exit.promise, kill })) as unknown as StartConfined;
    const start = await worker.open(place, startFake, () => {});
    await start({ command: 'x' } as never, new AbortController().signal);
    return { exit: exit.promise, kill };
  }
  const first = await startProcess('first');
  await other.clear(place);
  await first.exit;
  const second = await startProcess('second');
  await other.clear({ ...place, principal: 'local:bob' });
  expect(killed).toEqual(['first']);
  await other.remove(place.server_id);
  await second.exit;
  expect(killed).toEqual(['first', 'second']);
  await rm(parent, { recursive: true, force: true });
});
