import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Returns the folder `node_modules` with the packages, kept in the user's cache for later test runs; their scripts do not run. Throws
 * if it cannot be created.
 */
export async function npmPackages(packages: readonly string[]): Promise<string> {
  const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 16);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdura', 'test-npm');
  const folder = join(cache, key);
  if (!existsSync(folder)) await install(packages, { cache, folder });
  return join(folder, 'node_modules');
}

async function install(packages: readonly string[], { cache, folder }: { cache: string; folder: string }): Promise<void> {
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, 'draft-'));
  try {
    await writeFile(join(draft, 'package.json'), '{"private": true}');
    const flags = [
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--loglevel=error',
      '--fetch-retries=1',
      '--fetch-timeout=60000',
    ];
    await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd: draft, timeout: 150_000 });
    // Another process may have made it in the meantime.
    await rename(draft, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(0, 3).join('; ');
    throw new Error(`npm could not install ${packages.join(', ')}: ${said || (error as Error).message}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
