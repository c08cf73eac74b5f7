import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { readIfExists, replaceFile } from './files.ts';

/** The newest release that builds with `go build` as it is; its server is 1.29.1. */
export const TEMPORAL_VERSION = '1.5.1';
export const MODULE = 'github.com/temporalio/cli';

/** The checksum database's sum of the module's source. Its go.sum, which is part of that source, pins every dependency. */
export const MODULE_SUM = 'h1:0RZMk14BWxz44Xg6ciDQvpfAMffoG3J7/K03ql80teY=';

/** SHA-256 of the official archives. A new version needs new sums here; the sums published next to the downloads are not used. */
export const ARCHIVE_SUMS: Record<string, string> = {
  'temporal_cli_1.5.1_linux_amd64.tar.gz': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'temporal_cli_1.5.1_linux_arm64.tar.gz': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  'temporal_cli_1.5.1_darwin_amd64.tar.gz': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'temporal_cli_1.5.1_darwin_arm64.tar.gz': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

export async function computeSha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest('hex');
}

const toRecordPath = (executable: string) => `${executable}.sha256`;

/** Records the checksum of an executable, in the format of sha256sum(1), to detect later changes. */
export const recordSum = (executable: string, sum: string): Promise<void> =>
  replaceFile(toRecordPath(executable), `${sum}  temporal\n`);

/** Returns the reason why an executable is not the one that Perdura obtained; undefined if it is. Does not execute the file. */
export async function findChange(executable: string): Promise<string | undefined> {
  const [recorded_sum] = ((await readIfExists(toRecordPath(executable))) ?? '').trim().split(/\s+/);
  const current_sum = await computeSha256(executable);
  if (recorded_sum) {
    return recorded_sum === current_sum
      ? undefined
      : `it was changed after Perdura obtained it (its SHA-256 is ${current_sum}, and ${recorded_sum} was recorded)`;
  }
  // The executable is older than the records, but Go embeds the source version in its builds.
  if (!(await readFile(executable)).includes(`mod\t${MODULE}\tv${TEMPORAL_VERSION}\t${MODULE_SUM}\n`))
    return `its SHA-256 was not recorded when it was obtained, and it is not a build of ${MODULE} v${TEMPORAL_VERSION}`;
  // A directory that cannot be written to cannot be tampered with by this user either.
  await recordSum(executable, current_sum).catch(() => {});
  return undefined;
}
