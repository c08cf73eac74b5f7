/** Pseudorandom numbers, reproducible from the seed. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** From 0 to `below` - 1. */
  int(below: number): number;
  between(from: number, to: number): number;
  pick<T>(of: readonly T[]): T;
  chance(of_one: number): boolean;
  shuffled<T>(of: readonly T[]): T[];
  /** A separate sequence for a part of the test, so that the parts do not affect each other. */
  fork(name: string): Random;
}

/** Mulberry32: small, and good enough to choose faults. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  function shuffled<T>(of: readonly T[]): T[] {
    const all = [...of];
    for (let last = all.length - 1; last > 0; last -= 1) {
      const other = int(last + 1);
      [all[last], all[other]] = [all[other]!, all[last]!];
    }
    return all;
  }
  return {
    next,
    int,
    between: (from, to) => from + next() * (to - from),
    pick: (of) => of[int(of.length)]!,
    chance: (of_one) => next() < of_one,
    shuffled,
    fork: (name) => randomOf([...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed)),
  };
}
