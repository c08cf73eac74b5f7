import { describe, expect, it } from 'vitest';
import { ACCOUNTS, playStage } from '../support/machine/scenes/play.ts';

/** What the comparison has to say about each leak. */
const LEAKS: Record<string, RegExp> = {
  'nothing at all': /^$/,
  "a neighbour's file": /^$/,
  "a neighbour's file in shared memory": /^$/,
  "a neighbour's mount": /^$/,
  "a neighbour's lost mount": /^$/,
  'a child': /^process: sleep 601, /,
  'an orphan in its own session': /^process: sleep 602, /,
  'a defunct process': /process: +\(defunct\), /,
  'a niceness of a known process': /^process: sleep 599, user \d+, nice 7, /,
  'an oom_score_adj of a known process': /^process: sleep 599, .* oom 321$/,
  'a file': /^file: .*\/file 100644$/,
  'a second name of a file': /^file: .*\/again 100644$/,
  'a mode of a file': /file: .*\/known 100666/,
  'a file in shared memory': /^file: \/dev\/shm\/machine-.*left$/,
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

describe.skipIf(process.platform !== 'linux').each(Object.keys(ACCOUNTS))('what %s leaves on the machine', (account) => {
  it('is noticed, whatever it is', { timeout: 120_000 }, async () => {
    const { scenes } = await playStage('leaks', { account, patience_ms: 100 });
    const possible = Object.entries(LEAKS).filter(([name]) => account === 'root' || !ONLY_ROOT.includes(name));
    expect(Object.keys(scenes)).toEqual(Object.keys(LEAKS));
    for (const [name, words] of possible) expect(scenes[name]!.left.join('\n'), name).toMatch(words);
  });
});
