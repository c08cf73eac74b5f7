import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks } from '../support/peers/model-server.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

let here: TestInstallation;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-halts-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
});
afterAll(async () => {
  await here.stop();
  for (const folder of [home, `${home}-shared`]) await rm(folder, { recursive: true, force: true });
});

/** Halts a run during a call of the server's tool `wait`. */
async function haltedInCall(server: object, begun: () => Promise<boolean> | boolean): Promise<void> {
  const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id], required_mcp_servers: [id] } });
  here.model.script(asks({ name: 'wait' }));
  const task_id = await here.prompt(workflow_id);
  await expect.poll(begun).toBe(true);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
}

it('a halt during a call cancels it at a server over stdio', async () => {
  const shared = `${home}-shared`;
  await mkdir(shared, { mode: 0o777 });
  await chmod(shared, 0o777);
  const record = join(shared, 'record');
  await writeFile(record, '', { mode: 0o666 });
  await chmod(record, 0o666);
  const connection_config = { command: process.execPath, args: [`${SERVERS}/waits.mjs`, record] };
  const paths = [MODULES, process.execPath, SERVERS, `${shared}:rw`];
  const seen = () => readFile(record, 'utf8');
  await haltedInCall({ name: 'waits', transport_type: 'stdio', connection_config, paths }, async () =>
    (await seen()).includes('begun'),
  );
  await expect.poll(seen).toMatch(/^begun\ncancelled: .+\n$/);
});

it('a halt during a call cancels it at a server over HTTP', async () => {
  const seen: string[] = [];
  const { url, stop } = await waitsOverHttp(seen);
  await haltedInCall({ name: 'waits-http', transport_type: 'http', connection_config: { url } }, () => seen.includes('begun'));
  await expect.poll(() => seen).toEqual(['begun', 'cancelled']);
  await stop();
});

const waitsOverHttp = (seen: string[]) =>
  startHttpMcpServer('waits', (mcp) => {
    mcp.registerTool('wait', { description: 'Waits until it is cancelled' }, async ({ signal }) => {
      seen.push('begun');
      await once(signal, 'abort');
      seen.push('cancelled');
      return { content: [{ type: 'text', text: 'stopped' }] };
    });
  });
