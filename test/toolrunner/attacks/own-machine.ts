import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startConfined } from '../../../src/toolrunner/confined.ts';
import { findConfinement } from '../../../src/toolrunner/confinement.ts';
import type { HostPath } from '../../../src/toolrunner/host-paths.ts';
import { findInterpreter } from '../../../src/toolrunner/interpreter.ts';
import { makeScratch } from '../../../src/toolrunner/scratch.ts';
import type { Tier } from '../../../src/toolrunner/settings.ts';

// A test runs this in a mount namespace whose /etc is a copy. It gives a command unchecked paths, like a service whose
// configuration check failed to refuse them, and reports whether /etc is unchanged.
const { tier, host_paths } = JSON.parse(process.argv[2] ?? '') as { tier: Tier; host_paths: Required<HostPath>[] };

const fingerprint = () => {
  const files = readdirSync('/etc').filter((name) => statSync(join('/etc', name), { throwIfNoEntry: false })?.isFile());
  return createHash('sha256')
    .update(files.map((name) => `${name} ${readFileSync(join('/etc', name), 'hex')}`).join('\n'))
    .digest('hex');
};

const main = fileURLToPath(new URL('../../../src/toolrunner/python/main.py', import.meta.url));
const interpreter = await findInterpreter('python3');
const scratch = await makeScratch(tmpdir(), undefined);
const command = (name: string) => [interpreter.executable, '-I', '-X', 'utf8', main, name, scratch.dir];
const confinement = await findConfinement({ options: { tier }, interpreter, scratch, command, log: () => {} });
const before = fingerprint();
const host = { confinement, command: command('confine'), host_paths, slots: new Set<number>() };
const started = await startConfined({ command: '/bin/true' }, host).catch((reason: Error) => reason);
const outcome = started instanceof Error ? started.message : `exit ${await started.exit}`;
console.log(JSON.stringify({ tier: confinement.tier, outcome, etc_unchanged: fingerprint() === before }));
await confinement.close();
await scratch.remove();
