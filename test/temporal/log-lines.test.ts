import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails } from '../support/model-server.ts';
import { type Child, startWorkerProcess } from '../support/processes.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here?.stop());

/** A run that fails at its model, and one with a call whose MCP server cannot be reached. */
async function failingRuns() {
  const workflow_id = await here.workflow();
  here.model.script(fails(400, { message: 'no such\n    at fake (stack)' }));
  const failed = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(failed.status).toBe('failed');
  const agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
  const url = 'http://127.0.0.1:9/mcp';
  const server = await here.alice.ok(
    here.alice.post('/api/mcps', { name: `gone ${workflow_id}`, transport_type: 'http', connection_config: { url } }),
  );
  await here.alice.ok(
    here.alice.put(`/api/agents/${agent_id}`, { mcp_server_ids: [server.id], required_mcp_servers: [server.id] }),
  );
  const lost = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(lost.status).toBe('failed');
  return { failed, lost };
}

/** Node warns of something as soon as someone listens. */
const WARN = "process.on('newListener', (name) => name === 'warning' && setImmediate(() => process.emitWarning('said by Node')))";
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(WARN)}`;

const linesOf = (worker: Child) => worker.output().split('\n').filter(Boolean);

async function workerWith(env: Record<string, string>) {
  const worker = await startWorkerProcess(here.setting, env);
  const runs = await failingRuns();
  await worker.end('SIGTERM');
  await worker.closed;
  return { worker, ...runs };
}

describe('a worker whose runs fail by their model or MCP server', () => {
  it('prints one line of text for each, with run, step and cause', { timeout: 120_000 }, async () => {
    const { worker, failed, lost } = await workerWith({ LOG_FORMAT: 'text' });
    const about = (id: string) => linesOf(worker).filter((line) => line.includes(id));
    expect(about(failed.id).join('\n')).toContain('Step 1 failed: ');
    expect(about(failed.id)[0]).toContain('no such');
    expect(about(lost.id).join('\n')).toMatch(/Step 1 failed.*: mcp/);
    expect(worker.output()).not.toMatch(/^\s+at |taskToken|task_token/m);
    // A start, an end, and each failure of a step and of its run.
    expect(linesOf(worker).length).toBeLessThan(10);
  });

  it('prints only JSON if the log is JSON', { timeout: 120_000 }, async () => {
    const { worker, failed } = await workerWith({ NODE_ENV: 'production', LOG_FORMAT: 'json', NODE_OPTIONS });
    const parsed = linesOf(worker).map((line) => JSON.parse(line));
    const [line] = parsed.filter(({ task_id, step }) => task_id === failed.id && step === 1);
    expect(line).toMatchObject({ level: 'warn', msg: expect.stringContaining('no such') });
    expect(line).not.toHaveProperty('err');
    expect(parsed.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('said by Node'));
    expect(worker.output()).not.toContain('taskToken');
  });

  it('prints what the native part of the SDK logs as JSON, too', { timeout: 120_000 }, async () => {
    const setting = { ...here.setting, temporal_address: '127.0.0.1:9' };
    const worker = startWorkerProcess(setting, { LOG_FORMAT: 'json' }).catch((error: Error) => error.message);
    const [, ...printed] = String(await worker)
      .split('\n')
      .filter(Boolean);
    expect(printed.length).toBeGreaterThan(0);
    expect(printed.map((line) => JSON.parse(line).level)).toContain('error');
  });
});
