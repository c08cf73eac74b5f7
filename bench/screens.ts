import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Installation } from '../src/main/dev.ts';
import { type Started, startInstallation } from './installation.ts';
import { fillRecord, type Size } from './large-record.ts';
import { usesOf } from './usage.ts';

const HELP = `node bin/perdura.mjs bench:screens [--tasks N] [--events N] [--rounds N] [--keep] [--at READY_FILE]

Fills an installation in a temporary home with N tasks of one person, 30 events each, and prints how long each request takes that
a screen of the dashboard sends (p50, longest) and how much CPU time it takes (node, Postgres), in ms. --keep leaves the installation
open until Ctrl-C; --at measures it again by the file whose path --keep prints.
`;

const { values: given } = parseArgs({
  options: {
    tasks: { type: 'string', default: '100000' },
    events: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '11' },
    keep: { type: 'boolean', default: false },
    at: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const WEEKS = 12;
const DAY_MS = 24 * 3_600_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
const WORKFLOWS = 40;
const AGENTS = 8;
const SAVES = 2;

interface Http {
  read<T>(path: string): Promise<T>;
  /** Creates or changes a record. */
  write(method: 'POST' | 'PUT', path: string, body: object): Promise<{ id: string }>;
}

function clientOf(url: string, token: string): Http {
  const send = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const reply = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return JSON.parse(text);
  };
  return { read: (path) => send('GET', path), write: send };
}

/** Creates the workflows that the tasks belong to, each with some versions. */
async function prepare({ write }: Http): Promise<string> {
  const models = ['small', 'medium', 'large', 'huge'];
  const provider = { provider_type: 'openai_compatible', base_url: 'http://127.0.0.1:9/v1', price_table: {} };
  const provider_id = (await write('POST', '/api/providers', { name: 'bench', ...provider })).id;
  const agents: string[] = [];
  for (let n = 0; n < AGENTS; n++)
    agents.push((await write('POST', '/api/agents', { name: `clerk ${n}`, provider_id, model: models[n % models.length] })).id);
  for (let n = 0; n < WORKFLOWS; n++) {
    const { id } = await write('POST', '/api/workflows', { title: `Office ${n}`, agent_id: agents[n % AGENTS] });
    for (let save = 1; save <= SAVES; save++) await write('PUT', `/api/workflows/${id}`, { max_turns: 5 + save });
  }
  return (await write('POST', '/api/datasets', { name: 'invoices' })).id;
}

/** Returns each screen with the requests that it sends. */
async function screens({ read }: Http, dataset_id: string): Promise<Record<string, Record<string, string>>> {
  const [task] = await read<[Record<'id' | 'workflow_id' | 'agent_id', string>]>('/api/tasks?limit=1&status=completed');
  const [evaluation] = await read<[{ id: string }]>(`/api/datasets/${dataset_id}/runs?limit=1`);
  const { id, workflow_id, agent_id } = task;
  const page = (query: string) => `/api/tasks?limit=50&count_to=1000&${query}`;
  const week = `from=${daysAgo(7)}&to=${daysAgo(-1)}`;
  const quarter = `from=${daysAgo(90)}&to=${daysAgo(-1)}`;
  const run = `/api/datasets/${dataset_id}/runs/${evaluation.id}`;
  return {
    Overview: {
      'recent tasks': '/api/tasks?limit=10&count_to=1000',
      'tasks of a status': '/api/tasks?status=completed&limit=1&count_to=10000',
      'waiting longest': '/api/tasks?status=waiting&sort=oldest&limit=1&count_to=1',
      'waiting for you': '/api/tasks?status=waiting&limit=20&count_to=1',
      'runs of the last day': `/api/usage?from=${daysAgo(1)}&to=${daysAgo(-1)}`,
      'slowest tool': `/api/usage/tools?from=${daysAgo(1)}&to=${daysAgo(-1)}&most=200`,
    },
    Tasks: {
      'newest first': page(''),
      'oldest first': page('sort=oldest'),
      'by cost': page('sort=cost'),
      'by duration': page('sort=duration'),
      'by tokens': page('sort=tokens'),
      'of a status': page('status=failed'),
      'of an error': page('error_code=tool_failed'),
      'of a model': page('model=small'),
      'of an agent': page(`agent_id=${agent_id}`),
      'of a trigger': page('trigger=schedule'),
      'of a workflow': page(`workflow_id=${workflow_id}`),
      'of a version': page(`workflow_id=${workflow_id}&version=2`),
      'of a version, by cost': page(`workflow_id=${workflow_id}&version=2&sort=cost`),
      'between two costs': page('min_cost=0.1&max_cost=0.2'),
      'between two days': page(`since=${daysAgo(30)}&until=${daysAgo(20)}`),
      'a word of one task': page('q=4711'),
      'a word of 200 tasks': page('q=c123'),
      'a word of all tasks': page('q=invoice'),
      'a word of all tasks, by cost': page('q=invoice&sort=cost'),
      'failed with a word of all, last week': page(`q=invoice&status=failed&since=${daysAgo(7)}`),
      'all of them, counted exactly': '/api/tasks?limit=50',
      'of a model, counted exactly': '/api/tasks?limit=50&model=small',
      'a word of all tasks, counted exactly': '/api/tasks?limit=50&q=invoice',
      'of a model that has none': page('model=none'),
      'grouped by error': '/api/tasks/errors',
      'errors of the last day': `/api/tasks/errors?since=${daysAgo(1)}`,
      'errors of a workflow': `/api/tasks/errors?workflow_id=${workflow_id}`,
      'errors with a word of all': '/api/tasks/errors?q=invoice',
      'models of the filter': `/api/usage?${quarter}&by=model&most=200`,
      'search of the palette': '/api/tasks?q=c123&limit=5&count_to=1',
    },
    'A run': {
      run: `/api/tasks/${id}`,
      steps: `/api/tasks/${id}/steps`,
      timeline: `/api/tasks/${id}/timeline`,
      'a step': `/api/tasks/${id}/steps/2`,
      'what the model saw': `/api/tasks/${id}/steps/2/request`,
      scores: `/api/tasks/${id}/scores`,
      deliveries: `/api/tasks/${id}/webhooks`,
    },
    Usage: {
      'a week by workflow': `/api/usage?${week}&by=workflow`,
      'its chart by day': `/api/usage?${week}&by=workflow&interval=day&most=6`,
      '90 days by workflow': `/api/usage?${quarter}&by=workflow`,
      '90 days by owner': `/api/usage?${quarter}&by=owner&scope=all`,
      'its chart of 90 days': `/api/usage?${quarter}&by=workflow&interval=day&most=6`,
      'tools of 90 days': `/api/usage/tools?${quarter}`,
      'models of 90 days': `/api/usage/models?${quarter}`,
    },
    'A workflow': {
      workflows: '/api/workflows?limit=50',
      workflow: `/api/workflows/${workflow_id}`,
      'its history': page(`workflow_id=${workflow_id}`),
      versions: `/api/workflows/${workflow_id}/versions?limit=50`,
      'a version': `/api/workflows/${workflow_id}/versions/2`,
      'scores by version': `/api/workflows/${workflow_id}/scores`,
    },
    'Datasets and evaluations': {
      datasets: '/api/datasets?limit=50',
      items: `/api/datasets/${dataset_id}/items?limit=50`,
      evaluations: `/api/datasets/${dataset_id}/runs?limit=50`,
      evaluation: run,
      results: `${run}/results?limit=50`,
      'failed results': `${run}/results?status=failed&limit=50`,
    },
  };
}

interface Measured {
  times: number[];
  /** The CPU time of Node for one request; `postgres_ms` is that of Postgres. */
  node_ms: number;
  postgres_ms: number;
}

async function measure({ read }: Http, path: string, { api: node = 0, postgres = 0 }: Installation['pids']): Promise<Measured> {
  const rounds = Number(given.rounds);
  const times: number[] = [];
  await read(path);
  const before = await usesOf({ node, postgres });
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now();
    await read(path);
    times.push(performance.now() - begin);
  }
  const after = await usesOf({ node, postgres });
  const spent = (part: string) => ((after[part]?.cpu_ms ?? 0) - (before[part]?.cpu_ms ?? 0)) / rounds;
  return { times: times.sort((one, other) => one - other), node_ms: spent('node'), postgres_ms: spent('postgres') };
}

async function report(http: Http, { pids }: Pick<Installation, 'pids'>): Promise<void> {
  const [dataset] = await http.read<[{ id: string }]>('/api/datasets?limit=1');
  process.stdout.write('| screen | request | p50 | longest | node | Postgres |\n|---|---|---|---|---|---|\n');
  for (const [screen, requests] of Object.entries(await screens(http, dataset.id)))
    for (const [name, path] of Object.entries(requests)) {
      const { times, node_ms, postgres_ms } = await measure(http, path, pids);
      const figures = [times[Math.floor(times.length / 2)], times.at(-1), node_ms, postgres_ms].map((ms = 0) => Math.round(ms));
      process.stdout.write(`| ${screen} | ${name} | ${figures.join(' | ')} |\n`);
    }
}

async function fillScreens({ installation, token }: Pick<Started, 'installation' | 'token'>): Promise<void> {
  const http = clientOf(installation.api_url, token);
  const dataset_id = await prepare(http);
  const { id: principal, login } = await http.read<{ id: string; login: string }>('/api/me');
  const size: Size = { tasks: Number(given.tasks), events: Number(given.events), weeks: WEEKS };
  const begin = performance.now();
  await fillRecord(installation.database_url, size, { principal, login, dataset_id });
  const counting = performance.now();
  await http.read('/api/usage');
  const seconds = [counting - begin, performance.now() - counting].map((ms) => Math.round(ms / 1000));
  process.stderr.write(`Filled in ${seconds[0]} s, usage counted in ${seconds[1]} s\n`);
}

async function measureNew(): Promise<void> {
  // The reconciler would repair the waiting tasks, which the engine does not know.
  process.env.RECONCILE_SECONDS = '86400';
  const started = await startInstallation();
  const { installation, token, stop } = started;
  try {
    await fillScreens(started);
    await report(clientOf(installation.api_url, token), installation);
    if (given.keep) await keepRunning(installation);
  } finally {
    await stop();
  }
}

async function keepRunning({ dashboard_url, token_file }: Installation): Promise<void> {
  process.stderr.write(`Open until Ctrl-C: ${dashboard_url}. Measure again: --at ${join(dirname(token_file), 'ready.json')}\n`);
  await new Promise((resolve) => process.once('SIGINT', resolve));
}

async function measureKept(file: string): Promise<void> {
  const installation = JSON.parse(await readFile(file, 'utf8')) as Installation;
  const token = (await readFile(installation.token_file, 'utf8')).trim();
  await report(clientOf(installation.api_url, token), installation);
}

if (given.help) process.stdout.write(HELP);
else if (given.at) await measureKept(given.at);
else await measureNew();
