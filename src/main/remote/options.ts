import { parseArgs } from 'node:util';
import { distance } from 'fastest-levenshtein';
import { COMMANDS, type Form } from '../command-list.mjs';
import { usageOf } from '../help.mjs';

/** The command line is invalid: exit code 2. `usage` shows what may be typed. */
export class UsageError extends Error {
  readonly usage: string;
  constructor(reason: string, usage = '') {
    super(reason);
    this.usage = usage;
  }
}

export const usageError = (command: string, reason: string, verb?: string): UsageError =>
  new UsageError(reason, usageOf(command, verb));

/** A command line, parsed by the declaration of its command. */
export interface Given {
  /** Empty if the command has no verbs. */
  verb: string;
  words: string[];
  has(flag: string): boolean;
  text(option: string): string | undefined;
  texts(option: string): string[];
}

/** Parses the arguments of a command by its declaration; throws a UsageError if they do not fit it. */
export function parseCommand(command: string, args: string[]): Given {
  const declared = COMMANDS[command]!;
  const has_verbs = 'verbs' in declared;
  const verb = has_verbs ? findVerb(command, Object.keys(declared.verbs), args[0]) : '';
  const form = has_verbs ? declared.verbs[verb]! : declared;
  const { values, positionals } = parse({ command, verb, form }, has_verbs ? args.slice(1) : args);
  const read = (option: string) => values[option];
  return {
    verb,
    words: positionals,
    has: (flag) => read(flag) === true,
    text: (option) => read(option) as string | undefined,
    texts: (option) => (read(option) ?? []) as string[],
  };
}

function findVerb(command: string, verbs: string[], word: string | undefined): string {
  if (word !== undefined && verbs.includes(word)) return word;
  const choice = verbs.length === 1 ? verbs[0] : `one of ${verbs.join(', ')}`;
  if (word === undefined || word.startsWith('-')) throw usageError(command, `Write ${choice} after perdura ${command}`);
  throw usageError(command, `There is no perdura ${command} ${word}${suggest(word, verbs)}`);
}

interface Parsing {
  command: string;
  verb: string;
  form: Form;
}

function parse({ command, verb, form: { options = {}, words = [] } }: Parsing, args: string[]) {
  const fail = (reason: string) => usageError(command, reason, verb);
  const { values, positionals } = parseOptions(args, options, fail);
  const missing = words.slice(positionals.length).find((name) => !name.endsWith('?'));
  if (missing) throw fail(`The ${missing.replace('…', '')} is missing`);
  // The message does not repeat surplus words: they may be secrets.
  if (positionals.length > words.length && !words.at(-1)?.endsWith('…'))
    throw fail(`It takes ${words.length || 'no'} ${words.length === 1 ? 'word' : 'words'}, not ${positionals.length}`);
  return { values, positionals };
}

function parseOptions(args: string[], options: NonNullable<Form['options']>, fail: (reason: string) => UsageError) {
  const types = Object.fromEntries(
    Object.entries(options).map(([name, { value, short, many }]) => [
      name,
      { type: value ? ('string' as const) : ('boolean' as const), multiple: Boolean(many), ...(short ? { short } : {}) },
    ]),
  );
  try {
    return parseArgs({ args, options: types, allowPositionals: true });
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw fail(message.split('. ')[0]!);
    const name = /'(-[^' ]*)/.exec(message)![1]!;
    const names = [...Object.keys(options), 'help'].map((option) => `--${option}`);
    // A prompt may begin with a dash, as a list does.
    const hint = suggest(name, names) || (name.startsWith('--') ? '' : '; write -- before a word that begins with -');
    throw fail(`There is no option ${name}${hint}`);
  }
}

/** Returns "; did you mean …?" if a name is near enough to be a slip; otherwise nothing. */
export function suggest(word: string, names: string[]): string {
  const [nearest] = names.toSorted((one, other) => distance(word, one) - distance(word, other));
  const near = nearest !== undefined && distance(word, nearest) <= Math.ceil(nearest.replace(/^--/, '').length / 2.5);
  return near ? `; did you mean ${nearest}?` : '';
}

/** Parses an option that is a whole number from 1; undefined if it was not given. */
export function countOf(given: Given, command: string, option = 'limit'): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw usageError(command, `--${option} must be a whole number from 1`, given.verb);
  return count;
}
