// Compiles the code for the published package from src to lib. Both have the same folders, so that files are found in the same
// way.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const LIB = join(ROOT, 'lib');

rmSync(LIB, { recursive: true, force: true });
const compiler = join(ROOT, 'node_modules/.bin/tsc');
const { status } = spawnSync(compiler, ['-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
if (status !== 0) process.exit(1);
cpSync(join(ROOT, 'src'), LIB, { recursive: true, filter: isShipped });

/** True for files that are shipped uncompiled: the tools' Python and the files of the second dashboard. */
function isShipped(path) {
  if (statSync(path).isDirectory()) return !/\/(dashboard|__pycache__)$/.test(path);
  return !['.ts', '.tsx', '.pyc'].includes(extname(path)) && !path.includes('/generated/');
}
