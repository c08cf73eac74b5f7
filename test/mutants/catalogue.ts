import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';

const MACHINERY = ['catalogue.ts', 'kept-worker.ts', 'laboratory.ts', 'mutant.ts', 'run.ts', 'trial.ts'];

/** All planted faults. Each file next to this one is an area and exports a list of them. */
export async function catalogue(): Promise<Mutant[]> {
  const areas = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !MACHINERY.includes(name));
  const lists = await Promise.all(
    areas.map(async (name) => ((await import(join(import.meta.dirname, name))) as { default: Mutant[] }).default),
  );
  return lists.flat();
}

export const areaOf = ({ id }: Mutant): string => id.split('/')[0] as string;

/** A random sample, the same for the same seed. A fault that is added later changes one place of it at most. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: string): Mutant[] {
  const ranked = mutants.map((mutant) => ({ mutant, rank: createHash('sha256').update(`${seed} ${mutant.id}`).digest('hex') }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, size).map(({ mutant }) => mutant);
}
