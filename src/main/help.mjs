// What `perdura` prints about itself. Plain JavaScript, so that it is answered before anything is installed.
import { COMMANDS, LOCAL, REMOTE } from './command-list.mjs';

const NAME_WIDTH = 2 + Math.max(...Object.keys(COMMANDS).map((name) => name.length));
const isHelp = (word) => word === '--help' || word === '-h';
/** What follows `--` is a word of the command, whatever it looks like. */
const beforeDashes = (args) => (args.includes('--') ? args.slice(0, args.indexOf('--')) : args);
const own = (record, name) => (name !== undefined && Object.hasOwn(record, name) ? record[name] : null);

/** The answer to a question about the program itself, such as `--help`; null if the arguments name a command to run. */
export function answerTo([name = 'help', ...args], version) {
  if (name === '--version' || name === '-v') return `${version}\n`;
  if (isHelp(name) || (name === 'help' && args.length === 0)) return listOfCommands();
  if (name === 'help') return answerTo([...args, '--help'], version);
  if (!own(COMMANDS, name) || !beforeDashes(args).some(isHelp)) return null;
  return helpOf(name, own(COMMANDS[name].verbs ?? {}, args[0]) ? args[0] : undefined);
}

/** The forms of a command, or the one of its verb: `[{ line: 'perdura tasks ls', form }]`. */
export function formsOf(name, verb) {
  const { verbs, ...form } = COMMANDS[name];
  if (!verbs) return [{ line: `perdura ${name}`, form }];
  return Object.entries(verbs)
    .filter(([one]) => verb === undefined || one === verb)
    .map(([one, it]) => ({ line: `perdura ${name} ${one}`, form: it }));
}

/** One line for each form of a command: what may be typed. */
export const usageOf = (name, verb) =>
  formsOf(name, verb)
    .map(({ line, form }) => [line, ...(form.words ?? []).map(formatWord), ...optionsOf(form).map(formatUsage)].join(' '))
    .join('\n');

const formatWord = (word) =>
  word.endsWith('?') ? `[<${word.slice(0, -1)}>]` : word.endsWith('…') ? `<${word.slice(0, -1)}> …` : `<${word}>`;
const optionsOf = ({ options = {} }) => Object.entries(options);
const formatUsage = ([name, { value, many }]) => `[--${name}${value ? ` ${value}` : ''}]${many ? ' …' : ''}`;

/** All about a command, or about one of its verbs. */
export function helpOf(name, verb) {
  const { summary, verbs } = COMMANDS[name];
  const about = verb ? verbs[verb].summary : summary;
  const parts = formsOf(name, verb).map(({ line, form }) => {
    const rows = optionsOf(form).map(([option, { value, short, help }]) => [
      `${short ? `-${short}, ` : ''}--${option}${value ? ` ${value}` : ''}`,
      help,
    ]);
    const width = 2 + Math.max(0, ...rows.map(([left]) => left.length));
    const options = rows.map(([left, help]) => `  ${left.padEnd(width)}${help}\n`).join('');
    const title = verbs && !verb ? `\n${line}: ${form.summary}\n` : '';
    return `${title}${options ? `${title ? '' : '\nOptions:\n'}${options}` : ''}${title ? `  Example: ${form.example}\n` : `\nExample:\n  ${form.example}\n`}`;
  });
  return `${usageOf(name, verb)}\n\n${about}\n${parts.join('')}`;
}

export function listOfCommands() {
  const lines = (commands) =>
    Object.entries(commands)
      .map(
        ([name, { summary, verbs }]) =>
          `  ${name.padEnd(NAME_WIDTH)}${verbs ? `${Object.keys(verbs).join(' | ')}: ` : ''}${summary}\n`,
      )
      .join('');
  return `perdura <command>\n\nAn installation:\n${lines(LOCAL)}\nIts users, from anywhere:\n${lines(REMOTE)}\nperdura <command> --help explains its options, with an example. perdura --version prints the version.\n`;
}

/** Whether a command is only a client of the API. */
export const isRemote = (name) => Object.hasOwn(REMOTE, name);

/** Each command with the words that may follow it: its verbs, choices and options. */
export const wordsByCommand = () =>
  Object.fromEntries(
    Object.entries(COMMANDS).map(([name, { verbs = {} }]) => {
      const forms = formsOf(name).map(({ form }) => form);
      const choices = forms.flatMap((form) => form.choices ?? []);
      const options = forms.flatMap((form) => optionsOf(form).map(([option]) => `--${option}`));
      return [name, [...Object.keys(verbs), ...choices, ...new Set(options), '--help']];
    }),
  );
