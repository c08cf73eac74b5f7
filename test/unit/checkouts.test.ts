import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { egressRules } from '../../src/egress/rules.ts';
import { checkouts } from '../../src/tools/checkout.ts';

/** Returns why a checkout fails whose git is this shell script. */
async function failureOf(script: string, url = 'https://127.0.0.1/a.git') {
  const home = await mkdtemp(join(tmpdir(), 'perdura-checkouts-'));
  const [program, into] = [join(home, 'git'), join(home, 'into')];
  await mkdir(into);
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const checkOut = checkouts({ rules: egressRules(['127.0.0.1', '::1']), path: `${home}:/usr/bin:/bin` });
  const failure = await checkOut({ url, branch: null, token: null, into }, new AbortController().signal).then(
    () => null,
    ({ message }: Error) => message.replace('The repository could not be checked out: ', ''),
  );
  await rm(home, { recursive: true });
  return failure;
}

it.each([
  ['https://127.0.0.1/a.git', '127.0.0.1:443:127.0.0.1'],
  ['https://127.0.0.1:8443/a.git', '127.0.0.1:8443:127.0.0.1'],
  ['https://[::1]/a.git', '[::1]:443:[::1]'],
])('a checkout of %s is pinned to the address that was allowed: %s', async (url, pinned) => {
  expect(await failureOf('echo "fatal: $GIT_CONFIG_VALUE_0" >&2; exit 128', url)).toBe(pinned);
});

it.each([
  [64, 'git failed'],
  [65, `${'d/'.repeat(64)}f lies more than 64 levels deep`],
])('a repository of %i levels fails with: %s', async (levels, reason) => {
  const path = `${'d/'.repeat(levels - 1)}f`;
  const listing = `printf '100644 blob 0 1\\t${path}\\0'`;
  expect(await failureOf(`case "$*" in clone*) ;; *ls-tree*) ${listing} ;; *) exit 1 ;; esac`)).toBe(reason);
});
