import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lintOf, metricsOf } from '../support/contract/metrics.ts';
import { rawRequest } from '../support/contract/raw-request.ts';
import { folderOfRun } from '../support/harness/run-mark.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, envOf, perdura } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';
import { SERVERS } from '../tools/support.ts';

const TOKEN = 'token-of-prometheus';
const DEPLOY = new URL('../../deploy/', import.meta.url);
/** Of Debian's package `prometheus`. Without it, the same is checked by parsing. */
const PROMTOOL = spawnSync('promtool', ['--version']).status === 0;
const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';
const ENV = { WORKER_PORT: '0', PERDURA_HOST: '127.0.0.1', METRICS_TOKEN: TOKEN, ALLOW_STDIO_MCP: 'true' };

let here: TestInstallation;
let worker: Child;
let url: string;
const workers: Child[] = [];
const receivers: { stop(): Promise<void> }[] = [];

async function startWorker(env: Record<string, string> = {}, args: string[] = []): Promise<{ child: Child; url: string }> {
  const child = perdura('worker', { ...envOf(here.setting), ...ENV, ...env }, args);
  workers.push(child);
  await child.prints(/metrics of the worker at \S+\n/);
  return { child, url: /metrics of the worker at (\S+)/.exec(child.output())![1]! };
}

const health = async (at: string, path: string) => {
  const reply = await fetch(`${at}/health/${path}`);
  return { status: reply.status, body: (await reply.json()) as { checks: Record<string, { ok: boolean; detail: string }> } };
};

beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: { METRICS_TOKEN: TOKEN } });
  ({ child: worker, url } = await startWorker());
  await worker.prints(/takes work/);
}, 120_000);
afterAll(async () => {
  for (const child of workers) await child.end('SIGKILL');
  for (const receiver of receivers) await receiver.stop();
  await here.stop();
});

describe('the port of a worker', { timeout: 120_000 }, () => {
  it('is live and not ready while the worker waits for another one', async () => {
    const { child, url: waiting } = await startWorker(
      { TEMPORAL_ROLE_QUEUES: 'true', TEMPORAL_TASK_QUEUE: 'nobody-prepares-it' },
      ['--role', 'tools'],
    );
    expect((await health(waiting, 'live')).status).toBe(200);
    const { status, body } = await health(waiting, 'ready');
    expect(status).toBe(503);
    expect(body.checks.pollers).toEqual({ ok: false, detail: 'The worker does not ask for work: it is starting or stopping' });
    expect(body.checks.database).toMatchObject({ ok: true });
    await child.end('SIGKILL');
  });

  it('is ready once the worker takes work', async () => {
    const { status, body } = await health(url, 'ready');
    expect(Object.entries(body.checks).filter(([, { ok }]) => !ok)).toEqual([]);
    expect(Object.keys(body.checks)).toEqual(['database', 'engine', 'pollers', 'bus', 'migrations', 'tools']);
    expect(status).toBe(200);
  });

  it('shows the metrics only with METRICS_TOKEN', async () => {
    const status = async (headers: Record<string, string>) => (await rawRequest(`${url}/metrics`, { headers })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer wrong' })).toBe(401);
    expect(await status({ authorization: `Bearer ${TOKEN}` })).toBe(200);
    expect((await fetch(`${url}/api/tasks`)).status).toBe(404);
  });

  it('is named if another process has it: the worker does not start', async () => {
    const taken = new URL(url).port;
    const child = perdura('worker', { ...envOf(here.setting), ...ENV, WORKER_PORT: taken });
    workers.push(child);
    await child.closed;
    expect(child.output()).toContain(`WORKER_PORT=${taken} cannot be opened: listen EADDRINUSE`);
  });

  it('counts runs, models, tools, MCP servers, webhooks, sandboxes and text', async () => {
    const hook = await startReceiver();
    receivers.push(hook);
    hook.answers(410);
    const broken = await here.alice.ok(
      here.alice.post('/api/mcps', {
        ...{ name: 'broken', transport_type: 'stdio' },
        connection_config: { command: process.execPath, args: [`${SERVERS}/absent.mjs`], env: {} },
      }),
    );
    const workflow_id = await here.workflow({
      agent: { mcp_server_ids: [broken.id] },
      workflow: { webhook_url: hook.url },
      tools: [ADD],
    });
    here.model.script(
      (response, request) =>
        asks({ name: request.tools!.find(({ function: f }) => f.name.endsWith('add'))!.function.name, args: { a: 1, b: 2 } })(
          response,
          request,
        ),
      says('Three, of course.', { usage: { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 } }),
    );
    expect(await here.ended(await here.prompt(workflow_id), 60_000)).toMatchObject({ status: 'completed' });
    here.model.script(says('', { usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }));
    expect(await here.ended(await here.prompt(await here.workflow()))).toMatchObject({ error_code: 'empty_answer' });
    const metrics = await until('the webhook is given up', async () => {
      const found = await metricsOf(url, TOKEN);
      return found.sum('perdura_webhooks_given_up_total') > 0 && found;
    });
    expect(metrics.sum('perdura_run_duration_seconds_count', { status: 'completed', trigger: 'prompt' })).toBe(1);
    expect(metrics.sum('perdura_model_call_duration_seconds_count', { outcome: 'ok' })).toBe(2);
    expect(metrics.sum('perdura_model_tokens_total', { model: 'scripted', kind: 'input' })).toBe(119);
    expect(metrics.sum('perdura_model_tokens_total', { model: 'scripted', kind: 'output' })).toBe(13);
    expect(metrics.sum('perdura_tool_call_duration_seconds_count', { outcome: 'ok' })).toBe(1);
    expect(metrics.sum('perdura_mcp_errors_total', { server: 'broken' })).toBeGreaterThan(0);
    expect(metrics.sum('perdura_webhook_attempts_total', { outcome: 'failed' })).toBe(1);
    expect(metrics.sum('perdura_sandbox_starts_total', { kind: 'call' })).toBe(1);
    expect(metrics.sum('perdura_sandbox_starts_total', { kind: 'command' })).toBeGreaterThan(0);
    expect(metrics.sum('perdura_text_lag_seconds_count')).toBeGreaterThan(0);
    // Its SDK's own, in seconds and with the activities of a run.
    expect(metrics.sum('temporal_activity_execution_latency_seconds_count', { activity_type: 'exchange' })).toBe(3);
  });

  it('shows what has not ended: runs by status, calls that wait for a person, queues and their workers', async () => {
    const agent = { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] };
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.'));
    const task_id = await here.prompt(await here.workflow({ agent }));
    const task = () => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
    await until('it waits', async () => (await task()).status === 'waiting', 60_000);
    for (const at of [url, here.url]) {
      const metrics = await metricsOf(at, TOKEN);
      expect(metrics.sum('perdura_runs_open', { status: 'waiting', trigger: 'prompt' })).toBe(1);
      expect(metrics.sum('perdura_calls_waiting', { reason: 'approval' })).toBe(1);
      expect(metrics.sum('perdura_queue_pollers', { kind: 'activity' })).toBe(1);
      expect(metrics.sum('perdura_queue_pollers', { kind: 'workflow' })).toBe(1);
      expect(metrics.sum('perdura_queue_backlog')).toBe(0);
      expect(metrics.sum('perdura_source_up')).toBe(2);
    }
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
    expect((await metricsOf(url, TOKEN)).sum('perdura_calls_waiting')).toBe(0);
  });

  it('declares its metrics as Prometheus wants them, like the API, and names no id, owner or prompt', async () => {
    for (const at of [url, here.url]) {
      const metrics = await metricsOf(at, TOKEN);
      expect(metrics.families.length).toBeGreaterThan(20);
      expect(lintOf(metrics)).toEqual([]);
      const labels = [...metrics.series.keys()].join('\n');
      expect(labels).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-7|alice|Do it/);
    }
  });

  it.runIf(PROMTOOL)('satisfies promtool, as the alert rules do', async () => {
    for (const at of [url, here.url]) {
      const text = await (await fetch(`${at}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
      expect([status, stdout, stderr]).toEqual([0, '', '']);
    }
    const checked = spawnSync('promtool', ['check', 'rules', fileURLToPath(new URL('prometheus/alerts.yml', DEPLOY))]);
    expect(checked.status).toBe(0);
  });

  it('has every metric and label that the alert rules and the Grafana dashboard ask for', async () => {
    // The SDK declares the metrics of activities with the first one.
    here.model.script(says('Once.'));
    expect(await here.ended(await here.prompt(await here.workflow()), 60_000)).toMatchObject({ status: 'completed' });
    const all = [await metricsOf(url, TOKEN), await metricsOf(here.url, TOKEN)];
    const names = new Set([...all.flatMap(({ series }) => [...series.keys()].map((key) => key.split('{')[0] as string)), 'up']);
    for (const { families } of all)
      for (const { name, type } of families) for (const each of namesOf(name, type)) names.add(each);
    const labels = new Set(all.flatMap(({ series }) => [...series.keys()].flatMap((key) => key.match(/\w+(?==")/g) ?? [])));
    const queries = [...rules(), ...panels()];
    expect(queries.length).toBeGreaterThan(30);
    for (const query of queries) {
      expect(
        metricsIn(query).filter((name) => !names.has(name)),
        query,
      ).toEqual([]);
      expect(
        labelsOf(query).filter((label) => !labels.has(label) && !GIVEN.includes(label)),
        query,
      ).toEqual([]);
    }
  });

  it('is opened by a worker of one role, which warns that it gets no work while TEMPORAL_ROLE_QUEUES is off', async () => {
    const { child } = await startWorker({}, ['--role', 'models']);
    await child.prints(/takes work from \S+ as models\nTEMPORAL_ROLE_QUEUES is off: runs that start now send all their work/);
    await child.end('SIGKILL');
  });

  it('is opened by no second worker with one home if workspaces are kept in a bucket', async () => {
    const home = await folderOfRun('perdura-shared-');
    const bucket = { S3_BUCKET: 'gone', S3_ENDPOINT: 'http://127.0.0.1:9', S3_ACCESS_KEY_ID: 'x', S3_SECRET_ACCESS_KEY: 'y' };
    const { child } = await startWorker({ PERDURA_HOME: home, ...bucket });
    await child.prints(/takes work/);
    const { child: second } = await startWorker({ PERDURA_HOME: home, ...bucket });
    expect(await second.closed).toEqual([1, null]);
    const reason = `Process ${child.pid} is a worker with the home ${home}: with S3_BUCKET each worker needs a separate PERDURA_HOME`;
    expect(second.output()).toContain(reason);
    await child.end('SIGKILL');
  });
});

/** Labels that Prometheus adds. */
const GIVEN = ['job', 'instance'];
const read = (file: string) => readFileSync(new URL(file, DEPLOY), 'utf8');

const rules = () => [...read('prometheus/alerts.yml').matchAll(/^ +expr: (.+)$/gm)].map(([, query = '']) => query);
const panels = () =>
  (JSON.parse(read('grafana/perdura.json')).panels as { targets?: { expr: string }[] }[]).flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr),
  );

const namesOf = (name: string, type: string) =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${name}${part}`) : [name];
/** The names of metrics are what is left without functions, labels and their values. */
const metricsIn = (query: string) => {
  const bare = query.replace(/\{[^}]*\}|by \([^)]*\)|\[\w+\]/g, ' ').replace(/\w+(?=\s*\()/g, ' ');
  return (bare.match(/\b[a-z]\w+\b/g) ?? []).filter((word) => word !== 'and');
};
const labelsOf = (query: string) => [
  ...[...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim())),
  ...[...query.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
];
