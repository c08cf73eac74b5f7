import type { ServerResponse } from 'node:http';
import {
  type Answer,
  asks,
  breaksOff,
  fails,
  type ModelRequest,
  type ModelServer,
  says,
  startModelServer,
} from '../support/peers/model-server.ts';
import { POISONS } from '../support/peers/poison-model.ts';
import { type Kind, type Plan, planIn } from './plan.ts';
import type { Random } from './random.ts';

export const TOKENS_IN = 10;
export const TOKENS_OUT = 5;

/** An answer that was sent completely, so that it has to be paid for. */
export interface Served {
  plan: number;
  step: number;
}

/** Answers that fail their run with a specific error. */
const DEADLY = [POISONS['a line of 300 MB'], POISONS['a body that unpacks to 100 MB'], POISONS['a page']];
/** What a number beyond all measure is counted as. */
const MOST_TOKENS = 1e8;

export interface Tokens {
  total_in: number;
  total_out: number;
}

export interface ChaosModel {
  url: string;
  served: Served[];
  /** Poisons the answer to the next request, and to every repetition of it. */
  poisonNext(): void;
  /** The error with which a plan that got a deadly answer has to fail. */
  deadly: Map<number, string>;
  /** The tokens that the answer to a step of a plan has to be counted as. */
  tokensOf(plan: number, step: number): Tokens;
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
  const deadly = new Map<number, string>();
  const poisons = new Map<string, Poison>();
  let waiting = 0;
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
    const poison = poisonAt(place);
    if (poison?.code) {
      deadly.set(plan.id, poison.code);
      return poison.answer(response, request);
    }
    response.once('finish', () => served.push({ plan: plan.id, step }));
    await (poison?.answer ?? reply(plan, step))(response, request);
  }
  /** Sticks to its place: an attempt whose worker died gives way to one that has to end in the same way. */
  function poisonAt(place: string): Poison | undefined {
    if (waiting > 0 && !poisons.has(place)) {
      waiting -= 1;
      poisons.set(place, random.pick(poisonsOf(++answers)));
    }
    return poisons.get(place);
  }
  const fault = () =>
    random.pick([fails(429, { headers: { 'retry-after-ms': '200' } }), fails(500), breaksOff('Cut off in the mid')]);
  const reply = (plan: Plan, step: number) => {
    const round = plan.rounds[step];
    answers += 1;
    if (round)
      return asks(...round.map((kind, index) => ({ name: tools[kind], args: argsOf(kind, step * 10 + index), id: `c${index}` })));
    const text = Array.from({ length: plan.words }, () => random.pick(WORDS)).join(' ');
    return says(`${answers}: ${text}`, { pause_ms: random.int(60) });
  };

  server.always(answer);
  return {
    url: server.url,
    served,
    poisonNext() {
      waiting += 1;
    },
    deadly,
    tokensOf: (plan, step) => poisons.get(`${plan}/${step}`)?.tokens ?? USUAL,
    faults: () => faults,
    stop: () => server.stop(),
  };
}

const argsOf = (kind: Kind, n: number) => (kind === 'brief' ? { todoList: [{ id: n, title: 'Count', status: 'done' }] } : { n });

const USUAL: Tokens = { total_in: TOKENS_IN, total_out: TOKENS_OUT };

interface Poison {
  answer: Answer;
  /** Null if the run continues. */
  code: string | null;
  tokens: Tokens;
}

const poisonsOf = (number: number): Poison[] => [
  ...DEADLY.map(([answer, code]) => ({ answer, code, tokens: USUAL })),
  { answer: says(`${number}: a \0 null character`), code: null, tokens: USUAL },
  {
    answer: says(`${number}: wrong usage`, { usage: { prompt_tokens: -5, completion_tokens: 1e300 } }),
    code: null,
    tokens: { total_in: 0, total_out: MOST_TOKENS },
  },
];
