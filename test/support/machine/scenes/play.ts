import { fileURLToPath } from 'node:url';
import { runBelowReaper } from '../below-reaper.ts';
import type { StageReport } from './scenes.ts';

const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));
/** How long what was ended may take to go. The sandbox keeps a process too many for ten seconds. */
const PATIENCE_MS = 25_000;
const IS_ROOT = process.getuid?.() === 0;
/** `nobody`: Postgres runs only as a user that the machine knows. */
const ORDINARY = 65_534;

/** The accounts to play as: root, if the tests may, and an ordinary user. */
export const ACCOUNTS: Record<string, { uid: number; gid: number } | undefined> = {
  ...(IS_ROOT && { root: undefined }),
  'an ordinary user': IS_ROOT ? { uid: ORDINARY, gid: ORDINARY } : undefined,
};

interface Play {
  account: string;
  options?: object;
  only?: readonly string[];
  patience_ms?: number;
}

/** Plays the scenes of a stage in a separate process; reports what each came to and what it left on the machine. */
export const playStage = (
  stage: string,
  { account, options = {}, only, patience_ms = PATIENCE_MS }: Play,
): Promise<StageReport> =>
  runBelowReaper(PROGRAM, [JSON.stringify({ stage, options, patience_ms, ...(only && { only }) })], { user: ACCOUNTS[account] });
