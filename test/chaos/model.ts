import type { ServerResponse } from 'node:http';
import { asks, breaksOff, fails, type ModelRequest, type ModelServer, says, startModelServer } from '../support/model-server.ts';
import { type Kind, type Plan, planIn } from './plan.ts';
import type { Random } from './random.ts';

export const TOKENS_IN = 10;
export const TOKENS_OUT = 5;

/** An answer that was sent completely, so that it has to be paid for. */
export interface Served {
  plan: number;
  step: number;
}

export interface ChaosModel {
  url: string;
  served: Served[];
  faults(): number;
  stop(): Promise<void>;
}

/** More failures in one step would correctly fail the run. */
const FAULTS_A_STEP = 2;
const WORDS = ['durable', 'naïve', '日本', 'über', '🙂', 'run', '\u2028', 'tool', '"quoted"', '\\n', 'end.'];

/** Follows the plan in the prompt. Every answer is unique, so that no watcher can mistake one for another. */
export async function startChaosModel(random: Random, tools: Record<Kind, string>): Promise<ChaosModel> {
  const server: ModelServer = await startModelServer();
  const served: Served[] = [];
  const failed = new Map<string, number>();
  let faults = 0;
  let answers = 0;

  async function answer(response: ServerResponse, request: ModelRequest): Promise<void> {
    const plan = planIn(request.messages.find(({ role }) => role === 'user')?.content ?? '');
    const step = request.messages.filter(({ role }) => role === 'assistant').length;
    const place = `${plan.id}/${step}`;
    const before = failed.get(place) ?? 0;
    if (before < FAULTS_A_STEP && random.chance(0.08)) {
      failed.set(place, before + 1);
      faults += 1;
      return fault()(response, request);
    }
    response.once('finish', () => served.push({ plan: plan.id, step }));
    await reply(plan, step)(response, request);
  }
  const fault = () =>
    random.pick([fails(429, { headers: { 'retry-after-ms': '200' } }), fails(500), breaksOff('Cut off in the mid')]);
  const reply = (plan: Plan, step: number) => {
    const round = plan.rounds[step];
    answers += 1;
    if (round)
      return asks(...round.map((kind, index) => ({ name: tools[kind], args: { n: step * 10 + index }, id: `c${index}` })));
    const text = Array.from({ length: plan.words }, () => random.pick(WORDS)).join(' ');
    return says(`${answers}: ${text}`, { pause_ms: random.int(60) });
  };

  server.always(answer);
  return { url: server.url, served, faults: () => faults, stop: () => server.stop() };
}
