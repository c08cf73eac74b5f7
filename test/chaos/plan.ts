import type { Random } from './random.ts';

export type Kind = 'read' | 'idempotent' | 'write' | 'approved' | 'mcp_read' | 'mcp_write';

/** The plan of one run: rounds of tool calls, then an answer. The prompt contains it, so that the model can follow it. */
export interface Plan {
  id: number;
  rounds: Kind[][];
  words: number;
}

const KINDS: Kind[] = ['read', 'idempotent', 'write', 'write', 'approved', 'mcp_read', 'mcp_write'];

export function planOf(id: number, random: Random): Plan {
  const rounds = Array.from({ length: random.int(4) }, () => Array.from({ length: 1 + random.int(3) }, () => random.pick(KINDS)));
  return { id, rounds, words: 10 + random.int(30) };
}

export const promptOf = (plan: Plan) => `Follow the plan: ${JSON.stringify(plan)}`;

export const planIn = (prompt: string): Plan => JSON.parse(prompt.slice(prompt.indexOf('{')));
