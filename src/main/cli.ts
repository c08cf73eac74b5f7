import { isDebugging, readConfig } from './config.ts';

const HELP = `perdura <command>

  dev           the whole installation, with its own servers (npm start)
  demo          a first run against a running installation
  api           the HTTP server   } with DATABASE_URL, TEMPORAL_ADDRESS
  worker        a worker          } and ENCRYPTION_KEYS set; --role runs|models|tools: a part of its work
  migrate       apply database migrations; --tools-role NAME: what a database role for tools workers may do
  rotate-keys   seal stored tokens again with the first of ENCRYPTION_KEYS
  backup        <file> [--without-key] [--force]: all of an installation of npm start, also while it runs
  restore       <file>: into an empty PERDURA_HOME
  tools         install <package> …: for custom tools to import
  replay        run bundles of runs again, offline: <bundle.json> …
  restored      after restoring a backup or snapshot: ask before writes are repeated
  size          what a load needs: --runs-per-second N --streams N …
  doctor        report what is unhealthy and why
`;

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
  replay: () => import('./commands/replay.ts'),
  restored: () => import('./commands/restored.ts'),
  size: () => import('./commands/size.ts'),
  doctor: () => import('./commands/doctor.ts'),
};

const [name = 'help', ...args] = process.argv.slice(2);
const load = COMMANDS[name];
if (!load) {
  process.stdout.write(HELP);
  process.exitCode = name === 'help' ? 0 : 2;
} else {
  try {
    const { default: run } = await load();
    await run(readConfig(), args);
  } catch (error) {
    process.stderr.write(`perdura ${name}: ${(error as Error).message}\n`);
    if (isDebugging()) console.error(error);
    // A partial failure may leave a native thread behind that would keep the process alive forever.
    process.exit(1);
  }
}
