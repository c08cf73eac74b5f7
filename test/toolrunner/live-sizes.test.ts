import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeFolder } from '../../src/folders/remove.ts';
import { restoreLayers, storeLayer } from '../../src/tools/snapshots/layer.ts';
import { findTreeChange, readTree } from '../../src/tools/snapshots/tree.ts';
import { runWithinLimits } from '../../src/tools/workspace-limits.ts';
import { IS_ROOT } from './support.ts';

const signal = new AbortController().signal;
/** Owns no file of the tests; not one of the users that tools get. */
const ORDINARY = 61_950;
const KIB = 1024;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sizes-'));
});
afterEach(() => execFileSync('rm', ['-rf', directory]));

const python = (source: string) => execFileSync('python3', ['-c', source], { cwd: directory });

/** What a call that may write answers in the directory: what it printed, or why it was not started. */
const answerOf = async (limits: { bytes: number; files: number }) => {
  const work = async ({ enter }: { enter(directory: string): Promise<void> }) => {
    await enter(directory);
    return { content: 'written', failed: false };
  };
  return (await runWithinLimits(limits, work)).content;
};

/** As the user that a service is, who is not root. The threads that touch files change their user too. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  execFileSync('chown', ['-R', String(ORDINARY), directory]);
  process.seteuid!(ORDINARY);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
  }
}

const LIMITS = { bytes: 64 * KIB, files: 20 };
const FULL = /holds more than 0 MiB \(WORKSPACE_MB\); no tool may write in it any more/;
const bigFile = (path: string) => writeFileSync(path, Buffer.alloc(256 * KIB, 1));

describe('the size of a workspace', () => {
  it('counts files whose names are not text', async () => {
    python('open(b"\\xff\\xfe", "wb").write(b"x" * 262144)');
    expect(await answerOf(LIMITS)).toMatch(FULL);
  });

  it('counts as exceeded where it is deeper than anybody looks', async () => {
    python('import os\nfor n in range(3000):\n os.mkdir("d" * 8); os.chdir("d" * 8)\nopen("big", "wb").write(b"x" * 262144)');
    expect(await answerOf({ bytes: 1e9, files: 1e6 })).toMatch(
      /^The workspace cannot be measured: dddddddd\/.*… lies more than 128 levels deep; no tool may write in it any more$/,
    );
    await readTree(directory);
    await removeFolder(directory);
    expect(() => statSync(directory)).toThrow('ENOENT');
  });

  it.skipIf(!IS_ROOT)('counts what is in a directory that a tool has closed, for a service that is not root', async () => {
    mkdirSync(join(directory, 'closed'));
    bigFile(join(directory, 'closed/big'));
    for (const mode of [0, 0o600, 0o200]) {
      chmodSync(join(directory, 'closed'), mode);
      expect(await asOrdinaryUser(() => answerOf(LIMITS))).toMatch(FULL);
    }
  });

  it.skipIf(!IS_ROOT)('counts as exceeded where a directory cannot be read, and changes nothing of it', async () => {
    const foreign = join(directory, 'foreign');
    mkdirSync(foreign, { mode: 0o700 });
    const asked = asOrdinaryUser(() => {
      process.seteuid!(0);
      chownSync(foreign, 0, 0);
      process.seteuid!(ORDINARY);
      return answerOf(LIMITS);
    });
    expect(await asked).toBe('The workspace cannot be measured: foreign cannot be read; no tool may write in it any more');
    expect(statSync(foreign).mode & 0o777).toBe(0o700);
  });

  it('does not count what a link points at', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    bigFile(join(outside, 'big'));
    for (const target of [outside, join(outside, 'big')]) symlinkSync(target, join(directory, `link-${target.length}`));
    expect(await answerOf(LIMITS)).toBe('written');
    rmSync(outside, { recursive: true });
  });
});

it.skipIf(!IS_ROOT)('a snapshot holds the content of a file that a tool has closed, for a service that is not root', async () => {
  const chunks: Uint8Array[] = [];
  const put = async (_key: string, content: Uint8Array) => void chunks.push(content);
  const place = { objects: { put } as never, prefix: '', signal };
  writeFileSync(join(directory, 'closed'), 'its content');
  chmodSync(join(directory, 'closed'), 0o200);
  await asOrdinaryUser(async () => storeLayer(directory, findTreeChange(new Map(), await readTree(directory)), place));
  expect(gunzipSync(Buffer.concat(chunks)).toString()).toContain('its content');
});

it('a file that shrinks while it is stored is stored as long as it was', async () => {
  const objects = new Map<string, Uint8Array>();
  const put = async (key: string, content: Uint8Array) => void objects.set(key, Uint8Array.from(content));
  const place = { objects: { put, get: async (key: string) => objects.get(key) ?? null } as never, prefix: '', signal };
  writeFileSync(join(directory, 'file'), 'twelve bytes');
  const change = findTreeChange(new Map(), await readTree(directory));
  truncateSync(join(directory, 'file'), 3);
  const restored = mkdtempSync(join(tmpdir(), 'restored-'));
  await restoreLayers(restored, [await storeLayer(directory, change, place)], place);
  expect(statSync(join(restored, 'file')).size).toBe(12);
  rmSync(restored, { recursive: true });
});
