/** Something that a turn waits for and the person decides in the terminal. */
export interface Ask {
  key: string;
  /** What the person has to know, shown once. */
  lines: string[];
  prompt(): string;
  /** Takes a line that was typed; returns true if nothing more is asked. Throws if the service refuses the decision. */
  answer(line: string): Promise<boolean>;
}
