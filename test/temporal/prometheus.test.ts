import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { folderOfRun } from '../support/harness/run-mark.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, childOf, envOf, freePort, perdura } from '../support/machine/processes.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';
import { SERVERS } from '../tools/support.ts';

const TOKEN = 'token-of-prometheus';
const deployed = (file: string) => fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
const text = (file: string) => readFileSync(deployed(file), 'utf8');
/** Of Debian's package `prometheus`. */
const PROMETHEUS = spawnSync('prometheus', ['--version']).status === 0;
if (!PROMETHEUS) console.log('Tests with Prometheus are left out: apt-get install prometheus');

interface Rule {
  name: string;
  query: string;
  health: string;
  lastError?: string;
  state: string;
}

let here: TestInstallation;
let worker: Child;
let prometheus: Child;
let at: string;
let folder: string;
let hook: Awaited<ReturnType<typeof startReceiver>>;

/** The configuration that is deployed, with these addresses instead of names, and a second instead of 15. */
async function startPrometheus(targets: string[]): Promise<void> {
  folder = await folderOfRun('perdura-prometheus-');
  const config = parse(text('prometheus/prometheus.yml'));
  const [job] = config.scrape_configs;
  delete job.dns_sd_configs;
  job.static_configs = [{ targets }];
  job.authorization.credentials_file = 'token';
  config.global = { ...config.global, scrape_interval: '1s', evaluation_interval: '1s' };
  config.rule_files = config.rule_files.map((file: string) => deployed(`prometheus/${file}`));
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  await writeFile(join(folder, 'token'), TOKEN);
  const port = await freePort();
  const flags = [`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  prometheus = childOf(
    spawn('prometheus', [...flags, `--web.listen-address=127.0.0.1:${port}`], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  await prometheus.prints(/Server is ready to receive web requests/);
  at = `http://127.0.0.1:${port}`;
}

async function ask<T>(path: string, search: Record<string, string> = {}): Promise<T> {
  const reply = await fetch(`${at}/api/v1/${path}?${new URLSearchParams(search)}`);
  const body = (await reply.json()) as { status: string; data: T; error?: string };
  if (body.status !== 'success') throw new Error(`${search.query ?? path}: ${body.error}`);
  return body.data;
}
const query = async (expression: string) => (await ask<{ result: unknown[] }>('query', { query: expression })).result;
const rules = async () => (await ask<{ groups: { rules: Rule[] }[] }>('rules')).groups.flatMap((group) => group.rules);
const withData = (expression: string) => until(`data for ${expression}`, async () => (await query(expression)).length > 0);
/** What a rule measures, whatever its threshold. */
const measured = (expression: string) => expression.replaceAll(/ (?:==|>) [\d.]+/g, '');

beforeAll(async () => {
  if (!PROMETHEUS) return;
  here = await startTestInstallation({ worker: false, env: { METRICS_TOKEN: TOKEN } });
  const env = { WORKER_PORT: '0', PERDURA_HOST: '127.0.0.1', METRICS_TOKEN: TOKEN, ALLOW_STDIO_MCP: 'true' };
  worker = perdura('worker', { ...envOf(here.setting), ...env });
  await worker.prints(/takes work/);
  const port = /metrics of the worker at (\S+)/.exec(worker.output())![1]!;
  await startPrometheus([here.url, port].map((url) => new URL(url).host));
  hook = await startReceiver();
}, 120_000);
afterAll(async () => {
  await prometheus?.end('SIGTERM');
  await worker?.end('SIGKILL');
  await hook?.stop();
  await here?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Runs, calls, webhooks and requests of every kind that is counted, failures among them. */
async function work(): Promise<void> {
  hook.answers(410);
  const broken = await here.alice.ok(
    here.alice.post('/api/mcps', {
      ...{ name: 'broken', transport_type: 'stdio' },
      connection_config: { command: process.execPath, args: [`${SERVERS}/absent.mjs`], env: {} },
    }),
  );
  expect((await here.alice.post(`/api/mcps/${broken.id}/tools/refresh`)).status).toBe(502);
  const todo = { name: 'manage_todo_list', args: { todoList: [] } };
  const agent = { mcp_server_ids: [broken.id], builtin_tools: ['manage_todo_list', 'bash'] };
  const workflow_id = await here.workflow({ agent, workflow: { webhook_url: hook.url } });
  here.model.script(asks(todo), asks({ name: 'bash', args: { command: 'exit 3' } }), says('Done.'));
  expect(await here.ended(await here.prompt(workflow_id), 60_000)).toMatchObject({ status: 'completed' });
  await until('the webhook is sent', async () => hook.received.length > 0);
  here.model.script(fails(401));
  expect(await here.ended(await here.prompt(await here.workflow()))).toMatchObject({ status: 'failed' });
  const careful = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] } });
  here.model.script(asks(todo));
  const waiting = await here.prompt(careful);
  await until('it waits', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${waiting}`))).status === 'waiting');
}

describe.skipIf(!PROMETHEUS)('Prometheus with the configuration and the rules of deploy/', { timeout: 120_000 }, () => {
  it('scrapes API and worker with the token', async () => {
    const health = async () => {
      const { activeTargets } = await ask<{ activeTargets: { health: string; lastError: string }[] }>('targets');
      return activeTargets.map((target) => [target.health, target.lastError]);
    };
    await expect.poll(health).toEqual([
      ['up', ''],
      ['up', ''],
    ]);
  });

  it('has data for what each alert measures and for each query of the Grafana dashboard', async () => {
    await work();
    const panels: { targets?: { expr: string }[] }[] = JSON.parse(text('grafana/perdura.json')).panels;
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const alerts = (await rules()).map((rule) => measured(rule.query));
    expect([alerts.length > 10, queries.length > 20]).toEqual([true, true]);
    for (const expression of [...alerts, ...queries]) await withData(expression);
  });

  it('evaluates every rule without an error, and fires the one about webhooks that were given up', async () => {
    const health = async () => (await rules()).map(({ name, health, lastError }) => [name, health, lastError]);
    await expect.poll(health).toEqual((await rules()).map(({ name }) => [name, 'ok', undefined]));
    await expect
      .poll(async () => (await rules()).filter(({ state }) => state === 'firing').map(({ name }) => name))
      .toContain('PerduraWebhooksGivenUp');
  });

  it('notices a worker that has gone', async () => {
    await worker.end('SIGKILL');
    await expect
      .poll(async () => (await rules()).filter(({ state }) => state === 'pending').map(({ name }) => name))
      .toContain('PerduraProcessDown');
  });
});
