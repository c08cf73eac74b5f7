import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { testBench } from '../harness/embedded-homes.ts';

const bench = testBench();

/** Removes what a test has made. Each file registers it: this module is loaded once for all files. */
export const clearCheckouts = (): Promise<void> => bench.clear();

const BIN = fileURLToPath(new URL('../../../bin', import.meta.url));
const HELP = ['help.mjs', 'command-list.mjs'].map((name) => fileURLToPath(new URL(`../../../src/main/${name}`, import.meta.url)));

/** A checkout without packages to install, and a program that prints its arguments. */
export async function makeCheckout(program = 'console.log(JSON.stringify(process.argv.slice(2)));'): Promise<string> {
  const root = await bench.home();
  await Promise.all(['src/main', 'test/support/harness'].map((name) => mkdir(join(root, name), { recursive: true })));
  await cp(BIN, join(root, 'bin'), { recursive: true });
  await Promise.all(HELP.map((file) => cp(file, join(root, 'src/main', basename(file)))));
  const manifest = { name: 'checkout', version: '1.0.0', type: 'module' };
  await writeFile(join(root, 'package.json'), JSON.stringify(manifest));
  await writeFile(
    join(root, 'package-lock.json'),
    JSON.stringify({ ...manifest, lockfileVersion: 3, packages: { '': manifest } }),
  );
  await writeFile(join(root, 'src/main/cli.ts'), `const typed: string = 'yes';\n${program}`);
  await writeFile(
    join(root, 'test/support/harness/run-tests.ts'),
    "console.log('tests', JSON.stringify(process.argv.slice(2)));",
  );
  return root;
}

export function startPerdura(root: string, ...args: string[]) {
  return startProgram(process.execPath, [join(root, 'bin/perdura.mjs'), ...args]);
}

/** Starts a program with variables in addition to those of this process. */
export function startProgram(program: string, args: string[], more: Record<string, string> = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...more } });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { child, ended: ended.then(([out, err, [code]]) => ({ out, err, code })) };
}
