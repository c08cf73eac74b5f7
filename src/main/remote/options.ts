import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { answerTo } from '../help.mjs';

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {}

export const JSON_OPTION = { json: { type: 'boolean' } } as const;
export const FOLLOW_OPTION = { follow: { type: 'boolean', short: 'f' } } as const;

/** Parses the options of a command and its words, named by `words`; a word whose name ends with `?` may be missing. */
export function parseOptions<O extends ParseArgsOptionsConfig>(
  command: string,
  args: string[],
  { options, words = [] }: Facts<O>,
) {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const missing = words.slice(positionals.length).find((name) => !name.endsWith('?'));
    if (missing) throw new Error(`The ${missing} is missing`);
    // The message does not repeat surplus words: they may be secrets.
    if (positionals.length > words.length) throw new Error(`It takes ${words.length || 'no'} words, not ${positionals.length}`);
    return { values, words: positionals };
  } catch (error) {
    throw usageError(command, (error as Error).message);
  }
}

interface Facts<O> {
  options: O;
  words?: string[];
}

export const usageError = (command: string, reason: string): UsageError =>
  new UsageError(`${reason}\n\n${answerTo([command, '--help'], '')}`.trimEnd());
