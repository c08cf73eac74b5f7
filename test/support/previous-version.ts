import { execFileSync, spawn } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { baseEnv, type Child, childOf } from './processes.ts';

/** The commit that upgrades are tried from: the last release, and before the first one a state that others have run. */
const PREVIOUS = 'eeec958';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Whether this clone has the commit; one without history does not. */
export function knowsPreviousVersion(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Puts the previous version's files into an empty folder, next to the packages of now, and returns what starts its commands. */
export async function previousVersion(folder: string): Promise<(command: string, env: Record<string, string>) => Child> {
  const files = execFileSync('git', ['archive', PREVIOUS, 'bin', 'src', 'prisma', 'prisma.config.ts', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 1_000_000_000,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: files });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, ['node_modules/prisma/build/index.js', 'generate'], { cwd: folder, stdio: 'ignore' });
  const cli = join(folder, 'src/main/cli.ts');
  return (command, env) =>
    childOf(
      spawn(process.execPath, ['--disable-warning=ExperimentalWarning', cli, command], {
        env: { ...baseEnv(), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
}
