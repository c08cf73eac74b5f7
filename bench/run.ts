import { writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Model, type Started, startInstallation, startModel } from './installation.ts';
import { firstToken, sequential, throughput } from './measure.ts';
import { type Report, streamsTable, tables, turnsTable } from './report.ts';
import { streams } from './streams.ts';
import { type Subject, subjectsOf } from './subjects.ts';
import { threads } from './threads.ts';
import { type ProcessUse, usesOf } from './usage.ts';

const HELP = `npm run bench -- [--quick] [--json FILE] [--only SUBJECT,…] [--levels N,…] [--streams N,…] [--turns N] [--profile DIR]

  --quick     about a minute, instead of about six
  --json      writes the figures to a file as well
  --only      of raw, engine (a built-in tool) and python (a custom tool)
  --levels    clients of the closed loops (default 1,8,32,64)
  --streams   only answers spoken at 40 tokens a second, so many at once, such as 16,100,400
  --turns     only one conversation of so many turns: what late turns cost, compared with early ones
  --profile   writes CPU profiles of the installation into a folder
`;

const QUICK = { runs: 20, rounds: 1, window_ms: 4_000, first_tokens: 15, waves: 3, idle_s: 3 };
const FULL = { runs: 100, rounds: 3, window_ms: 8_000, first_tokens: 60, waves: 10, idle_s: 10 };

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    only: { type: 'string', default: 'raw,engine,python' },
    levels: { type: 'string', default: '1,8,32,64' },
    profile: { type: 'string' },
    streams: { type: 'string' },
    turns: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const levels = given.levels.split(',').map(Number);
const say = (line: string) => process.stderr.write(`${line}\n`);

async function inInstallation<T>(work: (started: Started, model: Model) => Promise<T>): Promise<T> {
  const model = await startModel();
  try {
    say('Starting an installation …');
    const started = await startInstallation({ profile_dir: given.profile });
    try {
      return await work(started, model);
    } finally {
      await started.stop();
    }
  } finally {
    await model.stop();
  }
}

async function measureAll(started: Started, model: Model): Promise<Report> {
  const size = given.quick ? QUICK : FULL;
  const load_before = Number((loadavg()[0] ?? 0).toFixed(2));
  const all = await subjectsOf(started, model, Math.max(16, ...levels));
  const subjects = all.filter(({ name }) => given.only.split(',').includes(name));
  for (const subject of subjects) await warmUp(subject);
  say('Idle …');
  const idle = await idleUse(started.pids, size.idle_s);
  say('One after the other …');
  const one_by_one = await sequential(subjects, size.runs);
  say('First token …');
  const without_tools = subjects.filter(({ name }) => name !== 'python');
  const first_token = [];
  for (const [streams, rounds] of [
    [1, size.first_tokens],
    [16, size.waves],
  ] as const) {
    first_token.push({ streams, spreads: await firstToken(without_tools, { streams, rounds }) });
  }
  say('Closed loops …');
  return {
    date: new Date().toISOString(),
    machine: machineOf(load_before),
    quick: given.quick,
    labels: Object.fromEntries(subjects.map(({ name, label }) => [name, label])),
    sequential: one_by_one,
    first_token,
    throughput: await throughput(subjects, started.pids, { ...size, levels }),
    idle,
    idle_seconds: size.idle_s,
  };
}

/** Warms up a subject, so that opening connections, preparing statements and compiling code are not measured. */
async function warmUp({ run, three_steps }: Subject): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 4 }, (_, slot) => run(slot, three_steps)));
  }
}

async function idleUse(pids: Record<string, number>, seconds: number): Promise<Record<string, ProcessUse | null>> {
  await wait(2_000);
  const before = await usesOf(pids);
  await wait(seconds * 1000);
  const after = await usesOf(pids);
  const spent = ([part, use]: [string, ProcessUse | null]) =>
    [part, use && { ...use, cpu_ms: use.cpu_ms - (before[part]?.cpu_ms ?? 0) }] as const;
  return Object.fromEntries(Object.entries(after).map(spent));
}

const machineOf = (load_before: number) => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memory_gb: Math.round(totalmem() / 1024 ** 3),
  node: process.versions.node,
  load_before,
});

if (given.help) {
  process.stdout.write(HELP);
} else if (given.streams) {
  const counts = given.streams.split(',').map(Number);
  const found = await inInstallation((started, model) => streams(started, model, counts));
  await show(streamsTable(found), found);
} else if (given.turns) {
  const found = await inInstallation((started, model) => threads(started, model, Number(given.turns)));
  await show(turnsTable(found), found);
} else {
  const report = await inInstallation(measureAll);
  await show(tables(report), report);
}

async function show(text: string, figures: unknown): Promise<void> {
  process.stdout.write(`${text}\n`);
  if (given.json) await writeFile(given.json, `${JSON.stringify(figures, null, 2)}\n`);
}
