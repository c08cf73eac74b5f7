import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createResources, type Resources } from '../../src/main/resources.ts';
import { clientOf, type Watched } from './client.ts';
import { type Counts, injectFaults, killsIn, noFaults } from './faults.ts';
import { type Installation, startInstallation } from './installation.ts';
import { type ChaosModel, startChaosModel } from './model.ts';
import { planOf } from './plan.ts';
import { type Random, randomOf } from './random.ts';
import { measureRecovery, type Recovery } from './recovery.ts';
import { report } from './report.ts';
import { makeTools, type Tools } from './tools.ts';

export interface ChaosOptions {
  home: string;
  seed: number;
  /** Ends after so many kills or so many minutes, whichever comes first. */
  kills: number;
  minutes: number;
  workers: number;
  apis: number;
  clients: number;
  pace_ms: number;
  held_up_ms: number;
  silent_ms: number;
  /** Only these faults; null for all. */
  only: string[] | null;
  /** Redis carries the events, if it is installed. */
  redis: boolean;
  verbose: boolean;
  /** Ends it early, with a report on the runs so far. */
  stop: AbortSignal;
}

/** Runs a whole installation under faults, with everything real except the model. Returns the number of violations. */
export async function chaos(options: ChaosOptions): Promise<number> {
  const resources = createResources((error) => console.error(error));
  const start = Date.now();
  const log = (line: string) => options.verbose && console.log(`${((Date.now() - start) / 1000).toFixed(1)} s ${line}`);
  console.log(`seed ${options.seed}: ${options.workers} workers, ${options.apis} APIs, ${options.clients} clients`);
  try {
    const scene = await setTheScene(options, resources, log);
    const counts = noFaults();
    const runs = await disturb(options, scene, { counts, log });
    const exits = await Promise.all([...scene.fleet.workers, ...scene.fleet.apis].map((member) => member.stop()));
    return await report({ ...scene, options, counts, runs, exits, started: start });
  } finally {
    await resources.close();
  }
}

export interface Scene extends Installation {
  model: ChaosModel;
  tools: Tools;
  recovery: Recovery;
  /** The tasks being watched. */
  watched: Set<string>;
  workflows: string[];
  random: Random;
}

type Log = (line: string) => void;

/** A dollar for a thousand tokens. */
const PRICES = { '*': { input: 1_000, output: 1_000 } };
const AMPLE = 1_000_000_000_000;

async function setTheScene(options: ChaosOptions, resources: Resources, log: Log): Promise<Scene> {
  const { home, seed, clients } = options;
  const random = randomOf(seed);
  const installation = await startInstallation(resources, { ...options, log });
  const { servers, harm, urls, token, cache } = installation;
  for (const [fault, reason] of harm.left_out) console.log(`left out: ${fault} (${reason})`);
  const client = clientOf({ urls, token, random: random.fork('setting'), dropped() {}, watched: new Set() });
  const tools = await makeTools(client, join(home, 'effects'), cache);
  const model = resources.hold(await startChaosModel(random.fork('model'), tools.names), (it) => it.stop());
  const made = async (path: string, body: object) => (await client.insist('POST', path, { body })).body.id as string;
  const base = { provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted', price_table: PRICES };
  const provider_id = await made('/api/providers', { name: 'scripted', ...base });
  // Each call is reserved and settled in both. No run may wait, so they have room for what poison claims to have used.
  const ample = { scope: 'person', period: 'month' };
  await made('/api/budgets', { name: 'dollars', ...ample, limit_usd: AMPLE });
  await made('/api/budgets', { name: 'tokens', ...ample, limit_tokens: AMPLE });
  const approval_tools = [tools.names.approved];
  const agent_id = await made('/api/agents', { name: 'chaos', provider_id, ...tools.of_agent, approval_tools });
  const workflows: string[] = [];
  // Fewer workflows than clients, so that some runs wait for their lane.
  for (let index = 0; index < Math.ceil(clients * 0.75); index += 1)
    workflows.push(
      await made('/api/workflows', { agent_id, title: `chaos ${index}`, max_turns: 100, output_format: 'markdown' }),
    );
  const watched = new Set<string>();
  const recovery = resources.hold(
    measureRecovery(servers.temporal_address, () => [...watched]),
    (it) => it.close(),
  );
  return { ...installation, model, tools, recovery, watched, workflows, random };
}

/** Clients send one prompt after the other during the faults. Resolves when every requested run has ended. */
async function disturb(options: ChaosOptions, scene: Scene, { counts, log }: { counts: Counts; log: Log }): Promise<Watched[]> {
  const { fleet, servers, harm, model, urls, tools, recovery, watched, random, token, workflows } = scene;
  const over = new AbortController();
  const until = Date.now() + options.minutes * 60_000;
  const kills = () => killsIn(counts);
  const enough = () => kills() >= options.kills || Date.now() > until || options.stop.aborted;
  const { pace_ms, held_up_ms, silent_ms, only } = options;
  const settings = { counts, pace_ms, held_up_ms, silent_ms, only, log, random: random.fork('faults') };
  const faults = injectFaults({ ...{ fleet, servers, harm, model, tools, recovery }, ...settings }, over.signal);
  const runs: Watched[] = [];
  const plans = random.fork('plans');
  let made = 0;
  const work = Array.from({ length: options.clients }, async (_, index) => {
    const dropped = () => {
      counts['client dropped'] += 1;
    };
    const own = random.fork(`client ${index}`);
    const client = clientOf({ urls, token, random: own, dropped, watched });
    while (!enough()) {
      runs.push(await client.run(own.pick(workflows), planOf(++made, plans)));
      log(`run ${runs.length} ended`);
    }
  });
  const progress = setInterval(() => console.log(`${kills()} kills, ${runs.length} of ${made} runs ended`), 30_000);
  while (!enough()) await wait(200);
  over.abort();
  await faults;
  await Promise.all(work);
  clearInterval(progress);
  return runs;
}
