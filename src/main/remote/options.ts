import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { answerTo } from '../help.mjs';

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

export const JSON_OPTION = { json: { type: 'boolean' } } as const;
export const FOLLOW_OPTION = { follow: { type: 'boolean', short: 'f' } } as const;

/** Reads the options of a command, and as many words as `words` has names; a name with `?` may be missing. */
export function parseOptions<O extends ParseArgsOptionsConfig>(
  command: string,
  args: string[],
  { options, words = [] }: Facts<O>,
) {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const missing = words.slice(positionals.length).find((name) => !name.endsWith('?'));
    if (missing) throw new Error(`The ${missing} is missing`);
    // What is too much is not repeated: it may be a secret.
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
  new UsageError(`${reason}\n\n${answerTo([command, '--help'], '') ?? ''}`.trimEnd());
