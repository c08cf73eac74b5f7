import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatMark, parseMark } from '../domain/epoch.ts';
import { exists, replaceFile } from '../embedded/files.ts';
import type { HomeMark } from '../temporal/repair/epoch.ts';

const getMarkPath = (home: string) => join(home, 'epoch.json');
const getRequestPath = (home: string) => join(home, 'restored');

/**
 * The installation's mark in its home. If the home holds the record itself, the file also names the file that it is: a copy is
 * another file, so a home that was copied back, or next to the first, is noticed although its record, engine and mark agree.
 */
export function createHomeMark(home: string, { holds_record }: { holds_record: boolean }): HomeMark {
  return {
    async read() {
      const was_restored = holds_record && (await exists(getRequestPath(home)));
      const file = await open(getMarkPath(home)).catch(() => null);
      if (!file) return { mark: null, was_copied: false, was_restored };
      try {
        const text = await file.readFile('utf8');
        const was_copied = holds_record && isCopy(text, await file.stat({ bigint: true }));
        return { mark: parseMark(text), was_copied, was_restored };
      } finally {
        await file.close();
      }
    },
    async write(mark) {
      await mkdir(home, { recursive: true, mode: 0o711 });
      const draft = `${getMarkPath(home)}.${randomBytes(6).toString('hex')}`;
      const file = await open(draft, 'wx', 0o600);
      try {
        const identity = getFileIdentity(await file.stat({ bigint: true }));
        await file.writeFile(`${JSON.stringify({ ...JSON.parse(formatMark(mark)), file: identity })}\n`);
        // What the mark precedes may be lost with the power; the mark itself must not come back older than it was.
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, getMarkPath(home));
      await rm(getRequestPath(home), { force: true });
    },
  };
}

/** Asks the next start from a home for a new epoch. */
export const requestRestore = (home: string): Promise<void> => replaceFile(getRequestPath(home), '');

function isCopy(text: string, stats: BigIntStats): boolean {
  const [, file] = /"file":"([\d:]+)"/.exec(text) ?? [];
  const identity = getFileIdentity(stats);
  return Boolean(file && identity && file !== identity);
}

/**
 * Returns the identity of a file, which survives a move; null if the file system does not record creation times: copies cannot be
 * told apart then.
 */
const getFileIdentity = ({ ino, birthtimeNs }: BigIntStats): string | null => (birthtimeNs > 0n ? `${ino}:${birthtimeNs}` : null);
