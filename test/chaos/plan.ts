import type { Random } from './random.ts';

export type Kind = 'read' | 'idempotent' | 'write' | 'approved' | 'mcp_read' | 'mcp_write' | 'brief';

/** The plan of one run: rounds of tool calls, then an answer. The prompt contains it, so that the model can follow it. */
export interface Plan {
  id: number;
  rounds: Kind[][];
  words: number;
}

const KINDS: Kind[] = ['read', 'idempotent', 'write', 'write', 'approved', 'mcp_read', 'mcp_write', 'brief'];

export function planOf(id: number, random: Random): Plan {
  const round = () => Array.from({ length: 1 + random.int(3) }, () => random.pick(KINDS));
  // A round of brief calls only is made within the workflow task.
  const brief = (): Kind[] => Array.from({ length: 1 + random.int(2) }, () => 'brief');
  const rounds = Array.from({ length: random.int(4) }, () => (random.chance(0.25) ? brief() : round()));
  return { id, rounds, words: 10 + random.int(30) };
}

export const promptOf = (plan: Plan) => `Follow the plan: ${JSON.stringify(plan)}`;

export const planIn = (prompt: string): Plan => JSON.parse(prompt.slice(prompt.indexOf('{')));
