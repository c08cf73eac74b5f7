import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const SOURCE = fileURLToPath(new URL('../../', import.meta.url));
/** The ending of source files; `.js` in the published package. */
const ENDING = extname(import.meta.url);
/** The folders that the isolate may import from, by the rules of this repository. */
const FOLDERS = ['temporal/workflows', 'temporal', 'domain'];

/**
 * Returns the path of the workflow code for the engine's isolate. The code is bundled once, then read from `cache_dir` as long as
 * its sources are the same. `interceptors` are modules that wrap it.
 */
export async function workflowBundle(cache_dir: string, interceptors: string[] = []): Promise<{ codePath: string }> {
  const codePath = join(cache_dir, `workflows-${await sourceHash(interceptors)}.cjs`);
  const cached_code = await readFile(codePath).catch(() => null);
  if (cached_code) return { codePath };
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(SOURCE, `temporal/workflows/index${ENDING}`),
    workflowInterceptorModules: interceptors,
    logger: quiet,
  });
  await mkdir(cache_dir, { recursive: true });
  // Process ids are not unique here: containers that share the folder may have the same ones.
  const draft = `${codePath}.${randomUUID()}`;
  await writeFile(draft, code);
  await rename(draft, codePath);
  return { codePath };
}

async function sourceHash(interceptors: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(createRequire(import.meta.url)('@temporalio/workflow/package.json').version);
  for (const path of interceptors) hash.update(path);
  for (const folder of FOLDERS) {
    const names = (await readdir(join(SOURCE, folder))).filter((name) => name.endsWith(ENDING)).sort();
    for (const name of names) hash.update(name).update(await readFile(join(SOURCE, folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

const silent = () => {};
const quiet = {
  log: silent,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: (message: string) => console.error(message),
};
