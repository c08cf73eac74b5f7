import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import command from '../../src/main/commands/rotate-keys.ts';
import { readConfig } from '../../src/main/config.ts';
import { startTestInstallation } from '../support/installation.ts';
import { startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

it('a run outlives the key that its secrets were sealed with', async () => {
  const home = await mkdtemp(join(tmpdir(), 'perdura-rotation-'));
  await chmod(home, 0o711);
  const here = await startTestInstallation({ worker: false, env: { PERDURA_HOME: home } });
  const env = { ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' };
  let worker = await startWorkerProcess(here.setting, env);
  try {
    const connection_config = {
      command: process.execPath,
      args: [`${SERVERS}/odd.mjs`, 'digests'],
      env: { SECRET: 'kept-secret' },
    };
    const values = { name: 'secretive', transport_type: 'stdio', connection_config, paths: [MODULES, process.execPath, SERVERS] };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', values));
    // The default runtime, so that the caller's sealed access token is needed as well.
    const workflow_id = await here.workflow({
      agent: { provider_id: null, model: 'scripted', mcp_server_ids: [id], approval_tools: ['key'] },
    });
    here.model.script(asks({ name: 'key' }), says('Still here.'));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.event === 'approval_requested',
    });
    await worker.end('SIGTERM');
    const fresh = `fresh:${randomBytes(32).toString('base64')}`;
    const rotating = { DATABASE_URL: here.setting.database_url, ENCRYPTION_KEYS: `${fresh},${here.setting.encryption_keys}` };
    await command(readConfig(rotating));
    worker = await startWorkerProcess({ ...here.setting, encryption_keys: fresh }, env);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Still here.' });
    const result = here.model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')?.content ?? '';
    // The secret is redacted from what the tool answers; its digest shows that the tool had it.
    const sha256 = createHash('sha256').update('kept-secret').digest('hex');
    expect(JSON.parse(result)).toMatchObject({ env: '[redacted]', sha256 });
  } finally {
    await worker.end('SIGKILL');
    await here.stop();
    await rm(home, { recursive: true, force: true });
  }
}, 120_000);
