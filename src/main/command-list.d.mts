/** An option; without `value` it is a flag. */
export interface Option {
  value?: string;
  short?: string;
  many?: boolean;
  help: string;
}

/** What may be typed after a command or its verb. A word that ends with `?` may be left out, one with `…` may be repeated. */
export interface Form {
  summary: string;
  words?: string[];
  /** What its only word may be. */
  choices?: string[];
  options?: Record<string, Option>;
  example: string;
}

/** A command with one form, or with verbs that each have one. */
export type Command = Form | { summary: string; verbs: Record<string, Form> };

export const LOCAL: Record<string, Command>;
export const REMOTE: Record<string, Command>;
export const COMMANDS: Record<string, Command>;
