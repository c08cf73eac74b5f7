import { stat } from 'node:fs/promises';
import { run } from './processes.ts';

/** The user a server runs as. Without ids it is the user we are. */
export interface Account {
  name: string;
  uid?: number;
  gid?: number;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Postgres refuses to run as root, so root runs it as the owner of the data there is, or else as a user that can do little. */
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

/** Tested as that user, because modes alone do not decide access (access lists, parent directories). */
export async function canUse(account: Account, test: '-x' | '-r', path: string): Promise<boolean> {
  const { code } = await run('/bin/sh', ['-c', 'test "$1" "$2"', 'sh', test, path], asAccount(account));
  return code === 0;
}

/** Options to start a program as an account: in a directory it may enter, without environment settings of other programs. */
export function asAccount({ uid, gid }: Account) {
  return { uid, gid, cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
}
