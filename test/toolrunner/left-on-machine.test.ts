import { describe, expect, it } from 'vitest';
import { listFaults } from '../support/machine/scenes/outcomes.ts';
import { ACCOUNTS, playStage } from '../support/machine/scenes/play.ts';
import { SYSTEM_PYTHON } from '../support/machine/system-python.ts';
import { MAIN_TIERS } from './support.ts';

/** What the comparison has to say about each leak. */
const LEAKS: Record<string, RegExp> = {
  'nothing at all': /^$/,
  'a child': /^process: sleep 601, /,
  'an orphan in its own session': /^process: sleep 602, /,
  'a defunct process': /process: +\(defunct\), /,
  'a niceness of a known process': /^process: sleep 599, user \d+, nice 7, /,
  'an oom_score_adj of a known process': /^process: sleep 599, .* oom 321$/,
  'a file': /^file: .*\/file 100644$/,
  'a second name of a file': /^file: .*\/again 100644$/,
  'a mode of a file': /file: .*\/known 100666/,
  'a file in shared memory': /^file: \/dev\/shm\/left-by-/,
  'a lock': /lock: FLOCK WRITE .*\/known/,
  'a descriptor of a file': /^descriptor: .*\/known$/,
  'a descriptor of a pipe': /descriptor: socket/,
  'a mount': /mount: .*\/mounted .* tmpfs left/,
  'a lost mount': /mount lost: .*\/mounted .* tmpfs left/,
  'a umask': /^service: Umask:\t0007/,
  'a folder': /^service: folder \/$/m,
  'a limit': /^service: Max open files +777 +888/,
  'a niceness': /^service: niceness 3$/m,
  'an oom_score_adj': /^service: oom_score_adj 400$/m,
};
const ONLY_ROOT = ['a mount', 'a lost mount'];

/** One row of each mechanism; `left-in-every-tier` has the others. */
const QUICK: Record<string, string[]> = {
  tools: [
    'a tool that returns',
    'a tool that leaves daemons',
    'a tool that leaves a lock',
    'a tool that is cancelled while it runs',
    'a tool that fills its workspace, which is removed',
    'a tool whose workspace lies elsewhere',
    'a look at a file that takes too long',
  ],
  commands: ['a command that is killed', 'a command that is not there', 'a command whose workspace lies elsewhere'],
  servers: ['a server that is killed', 'a server that hangs at shutdown'],
  checkouts: ['a checkout', 'a checkout of too many files', 'a checkout that is cancelled'],
  backups: ['a backup that is stopped while it copies', 'a restore that fails half way'],
};

describe.skipIf(process.platform !== 'linux').each(Object.keys(ACCOUNTS))('what %s leaves on the machine', (account) => {
  it('is noticed, whatever it is', { timeout: 120_000 }, async () => {
    const { scenes } = await playStage('leaks', { account, patience_ms: 100 });
    const possible = Object.entries(LEAKS).filter(([name]) => account === 'root' || !ONLY_ROOT.includes(name));
    expect(Object.keys(scenes)).toEqual(Object.keys(LEAKS));
    for (const [name, words] of possible) expect(scenes[name]!.left.join('\n'), name).toMatch(words);
  });

  it('is nothing after one scene of each kind', { timeout: 180_000 }, async () => {
    const [tier] = Object.keys(MAIN_TIERS);
    const options = { python: SYSTEM_PYTHON, ...(tier ? { tier } : { isolation: 'none' }) };
    const kinds = Object.entries(QUICK);
    const reports = await Promise.all(kinds.map(([stage, only]) => playStage(stage, { account, options, only })));
    expect(reports.flatMap(listFaults)).toEqual([]);
    expect(reports.map(({ scenes }) => Object.keys(scenes))).toEqual(kinds.map(([, only]) => only));
  });
});
