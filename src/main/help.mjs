// What `perdura` prints about itself. Plain JavaScript, so that it is answered before anything is installed.

const COMMANDS = {
  dev: { summary: 'the whole installation, with its own servers (npm start)' },
  demo: { summary: 'a first run against a running installation' },
  api: { summary: 'the HTTP server; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS' },
  worker: {
    usage: '[--role runs|models|tools]',
    summary: 'a worker, or one of a part of the work; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS',
  },
  migrate: {
    usage: '[--tools-role NAME]',
    summary: 'apply database migrations, and limit the role of tools workers; needs DATABASE_URL',
  },
  'rotate-keys': { summary: 'seal stored tokens again with the first of ENCRYPTION_KEYS' },
  backup: { usage: '<file> [--without-key] [--force]', summary: 'all of an installation of npm start, also while it runs' },
  restore: { usage: '<file>', summary: 'a backup into an empty PERDURA_HOME' },
  tools: { usage: 'install <package> …', summary: 'packages that custom tools may import' },
  replay: { usage: '<bundle.json> …', summary: 'run bundles of runs again, offline' },
  eval: { usage: '--dataset <id> --workflow <id> …', summary: 'run a dataset against a workflow; the exit code is for CI' },
  restored: { summary: 'after restoring a backup or snapshot: ask before writes are repeated' },
  size: {
    usage: '--runs-per-second N --streams N [--steps N] [--calls N] [--readers N] [--parked N] [--retention-days N] [--json]',
    summary: 'how many processes and servers a load needs',
  },
  doctor: { usage: '[--json]', summary: 'report what is unhealthy and why' },
};

const NAME_WIDTH = 2 + Math.max(...Object.keys(COMMANDS).map((name) => name.length));
const isHelp = (word) => word === '--help' || word === '-h';

/** The answer to a question about the program itself, such as `--help`; null if the arguments name a command to run. */
export function answerTo([name = 'help', ...args], version) {
  if (name === '--version' || name === '-v') return `${version}\n`;
  if (name === 'help' || isHelp(name)) return listOfCommands();
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null;
  if (!command || !args.some(isHelp)) return null;
  return `perdura ${name}${command.usage ? ` ${command.usage}` : ''}\n\n${command.summary}\n`;
}

export function listOfCommands() {
  const lines = Object.entries(COMMANDS).map(
    ([name, { usage, summary }]) => `  ${name.padEnd(NAME_WIDTH)}${usage ? `${usage}: ` : ''}${summary}\n`,
  );
  return `perdura <command>\n\n${lines.join('')}\n  --help, --version, <command> --help\n`;
}
