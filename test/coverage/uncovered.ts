/** A branch that no test takes, known by a part of its line, and the reason. */
export interface Uncovered {
  file: string;
  text: string;
  reason: string;
}

export const UNCOVERED: readonly Uncovered[] = [];
