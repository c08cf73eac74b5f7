// What `perdura` prints about itself. Plain JavaScript, so that it is answered before anything is installed.

/** What works on this machine's installation or is one of its processes. */
const LOCAL = {
  dev: { summary: 'the whole installation, with its own servers (npm start)' },
  demo: { summary: 'a first run against a running installation' },
  api: { summary: 'the HTTP server; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS' },
  worker: {
    usage: '[--role runs|models|tools]',
    summary: 'a worker, or one of a part of the work; needs DATABASE_URL, TEMPORAL_ADDRESS and ENCRYPTION_KEYS',
  },
  migrate: {
    usage: '[--tools-role NAME]',
    summary: 'apply database migrations, prepare Temporal, and limit the role of tools workers; needs DATABASE_URL',
  },
  'rotate-keys': { summary: 'seal stored tokens again with the first of ENCRYPTION_KEYS' },
  backup: { usage: '<file> [--without-key] [--force]', summary: 'all of an installation of npm start, also while it runs' },
  restore: { usage: '<file>', summary: 'a backup into an empty PERDURA_HOME' },
  tools: { usage: 'install <package> …', summary: 'packages that custom tools may import' },
  'mcp-packages': {
    usage: 'ls [--json] | clear [<package>]',
    summary: 'packages installed for MCP servers that npx and uvx start',
  },
  replay: { usage: '<bundle.json> …', summary: 'run bundles of runs again, offline' },
  restored: { summary: 'after restoring a backup or snapshot: ask before writes are repeated' },
  doctor: { usage: '[--json]', summary: 'report what is unhealthy and why' },
};

/** Clients of the API, of an installation anywhere. They need no Python, no database and no dashboard. */
const REMOTE = {
  login: {
    usage: '--url <url> [--token-stdin] [--json]',
    summary: 'store an address and an access token for the commands below',
  },
  logout: { usage: '[--json]', summary: 'remove what login stored' },
  run: {
    usage: '<workflow> <prompt> [--follow] [--json]',
    summary: 'start a run; the workflow is an id or a title, and the prompt - reads stdin',
  },
  tasks: {
    usage: 'ls [--status <status>] [--workflow <workflow>] [--limit <n>] [--json]',
    summary: 'list runs, newest first',
  },
  logs: { usage: '<task> [--follow] [--json]', summary: 'what a run has done; -f follows it until it ends' },
  approve: { usage: '<task> [<call>] [--message <text>] [--json]', summary: 'let a tool call that waits be made' },
  deny: { usage: '<task> [<call>] [--message <text>] [--json]', summary: 'refuse a tool call that waits' },
  export: {
    usage: '[--output <file>] [--yaml] [--json]',
    summary: 'skills, guardrails, agents, your workflows and knowledge sources, without secrets',
  },
  import: { usage: '<file> [--dry-run] [--json]', summary: 'create what an export holds' },
  apply: {
    usage: '--file <file or folder> … [--dry-run] [--prune] [--yes] [--json]',
    summary: 'create and change resources until they are as declared; shows the difference',
  },
  budgets: { usage: 'ls [--json]', summary: 'the budgets that concern you, with what is left of each' },
  models: {
    usage: 'show [--json] | update <file or URL> [--digest sha256:<digest>] [--force] [--json] | reset [--json]',
    summary: 'the catalogue of models: prices, windows and ends; update and reset need an administrator',
  },
  eval: {
    usage: '--dataset <id> --workflow <id> … [--json]',
    summary: 'run a dataset against a workflow; the exit code is for CI',
  },
  completions: { usage: 'bash|zsh|fish', summary: 'print a completion script for a shell' },
};

const COMMANDS = { ...LOCAL, ...REMOTE };

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
  const lines = (commands) =>
    Object.entries(commands)
      .map(([name, { usage, summary }]) => `  ${name.padEnd(NAME_WIDTH)}${usage ? `${usage}: ` : ''}${summary}\n`)
      .join('');
  return `perdura <command>\n\nAn installation:\n${lines(LOCAL)}\nIts users, from anywhere:\n${lines(REMOTE)}\n  --help, --version, <command> --help\n`;
}

/** Whether a command is only a client of the API. */
export const isRemote = (name) => Object.hasOwn(REMOTE, name);

/** Each command with the words that may follow it: the options of its usage, and its verbs. */
export const wordsByCommand = () =>
  Object.fromEntries(
    Object.entries(COMMANDS).map(([name, { usage = '' }]) => {
      const verbs = /^[a-z]+(?:\|[a-z]+)*(?= |$)/.exec(usage)?.[0].split('|') ?? [];
      return [name, [...verbs, ...(usage.match(/--[a-z-]+/g) ?? []), '--help']];
    }),
  );
