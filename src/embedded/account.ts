import { stat } from 'node:fs/promises';
import { run } from './processes.ts';

/** The user that a server runs as. Without ids, this is the current user. */
export interface Account {
  name: string;
  uid?: number;
  gid?: number;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Chooses the user for Postgres, which refuses to run as root. Root runs it as the owner of existing data, or else as a user
 * with few rights.
 */
export async function serverAccount(data: string): Promise<Account> {
  if (!isRoot()) return { name: 'this user' };
  const owner = await stat(data).catch(() => undefined);
  if (owner && owner.uid !== 0) return { name: `user ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all(['-u', '-g'].map(async (which) => Number((await run('id', [which, name])).output)));
    if (uid && gid) return { name, uid, gid };
  }
  throw new Error(
    'Postgres refuses to run as root, and there is neither a user "postgres" nor "nobody" to run it as. ' +
      'Start Perdura as another user, create such a user, or set DATABASE_URL to use your own Postgres.',
  );
}

/** Tests access as that user, because modes alone do not decide it (access lists and parent directories matter too). */
export async function canUse(account: Account, test: '-x' | '-r', path: string): Promise<boolean> {
  const { code } = await run('/bin/sh', ['-c', 'test "$1" "$2"', 'sh', test, path], asAccount(account));
  return code === 0;
}

/**
 * Returns the options that start a program as an account: in a directory that it may enter, without environment settings of
 * other programs.
 */
export function asAccount({ uid, gid }: Account) {
  return { uid, gid, cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
}
