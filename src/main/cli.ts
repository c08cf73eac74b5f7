import { isDebugging, readConfig } from './config.ts';
import { answerTo, wordsByCommand } from './help.mjs';
import { logFailure, wrapOutput } from './log.ts';
import { PERDURA_VERSION } from './places.ts';
import { suggest, UsageError } from './remote/options.ts';
import { endWithReader, note, print, printError } from './terminal.ts';

type Command = (config: ReturnType<typeof readConfig>, args: string[]) => Promise<void>;

const COMMANDS: Record<string, () => Promise<{ default: Command }>> = {
  dev: () => import('./commands/dev.ts'),
  demo: () => import('./commands/demo.ts'),
  api: () => import('./commands/api.ts'),
  worker: () => import('./commands/worker.ts'),
  migrate: () => import('./commands/migrate.ts'),
  'rotate-keys': () => import('./commands/rotate-keys.ts'),
  backup: () => import('./commands/backup.ts'),
  restore: () => import('./commands/restore.ts'),
  tools: () => import('./commands/tools.ts'),
  'mcp-packages': () => import('./commands/mcp-packages.ts'),
  replay: () => import('./commands/replay.ts'),
  eval: () => import('./commands/eval.ts'),
  restored: () => import('./commands/restored.ts'),
  doctor: () => import('./commands/doctor.ts'),
  login: () => import('./commands/login.ts'),
  logout: () => import('./commands/logout.ts'),
  run: () => import('./commands/run.ts'),
  chat: () => import('./commands/chat.ts'),
  steer: () => import('./commands/steer.ts'),
  tasks: () => import('./commands/tasks.ts'),
  workflows: () => import('./commands/workflows.ts'),
  agents: () => import('./commands/agents.ts'),
  schedules: () => import('./commands/schedules.ts'),
  tokens: () => import('./commands/tokens.ts'),
  keys: () => import('./commands/keys.ts'),
  alerts: () => import('./commands/alerts.ts'),
  logs: () => import('./commands/logs.ts'),
  approve: () => import('./commands/approve.ts'),
  deny: () => import('./commands/deny.ts'),
  export: () => import('./commands/export.ts'),
  import: () => import('./commands/import.ts'),
  apply: () => import('./commands/apply.ts'),
  budgets: () => import('./commands/budgets.ts'),
  models: () => import('./commands/models.ts'),
  completions: () => import('./commands/completions.ts'),
};

async function main(argv: string[]): Promise<void> {
  const answer = answerTo(argv, PERDURA_VERSION);
  if (answer !== null) return print(answer);
  const [name = '', ...args] = argv;
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!load) {
    printError(
      `perdura has no command ${name}${suggest(name, Object.keys(wordsByCommand())) || '.'} perdura --help lists all commands\n`,
    );
    process.exitCode = 2;
    return;
  }
  try {
    // First, because a command takes a second to load.
    const config = readConfig();
    const { default: run } = await load();
    await run(config, args);
  } catch (error) {
    if (isDebugging()) console.error(error);
    // The sentence comes last, so that it is in sight.
    if (error instanceof UsageError && error.usage) note(`${error.usage}\n`);
    logFailure(`perdura ${name}: ${(error as Error).message}`);
    // A partial failure may leave a native thread behind that would keep the process alive forever.
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}

const SERVERS: readonly (string | undefined)[] = ['dev', 'api', 'worker'];

const argv = process.argv.slice(2);
wrapOutput();
endWithReader(SERVERS.includes(argv[0]));
await main(argv);
