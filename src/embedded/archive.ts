import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

/** Files in a folder, by their paths relative to it. */
interface Members {
  folder: string;
  paths: string[];
}

interface Result {
  code: number | null;
  output: string;
  errors: string;
}

/** Packs files. A file that changes or disappears meanwhile is not an error here, so the caller must check the result. */
export async function pack(file: string, members: Members[], signal: AbortSignal): Promise<void> {
  const args = ['-czf', basename(file), ...members.flatMap(({ folder, paths }) => ['-C', folder, ...paths])];
  const { code, errors } = await tar(args, { cwd: dirname(file), signal });
  // GNU tar exits with 1 if a file changed while it was read.
  if (code !== 0 && code !== 1) throw new Error(lastLine(errors));
}

/** Verifies the checksum of a packed file. Returns the first part of each path in it. */
export async function listTopLevel(file: string): Promise<Set<string>> {
  await verifyChecksum(file);
  const { code, output, errors } = await runTarOnFile(file, ['-tzf', '-']);
  if (code !== 0) throw new Error(lastLine(errors));
  return new Set(output.split('\n').map((path) => path.replace(/^\.\//, '').split('/')[0]!));
}

/** Reads a packed file to its end. Tar does not: it stops at the end of the archive, before the checksum. */
async function verifyChecksum(file: string): Promise<void> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(createReadStream(file), createGunzip(), nowhere).catch((error: NodeJS.ErrnoException) => {
    throw error.code?.startsWith('Z_') ? new Error(error.message) : error;
  });
}

/** Returns the text of a file in a packed one; undefined if it is not there. */
export async function readMember(file: string, path: string): Promise<string | undefined> {
  const { output } = await runTarOnFile(file, ['-xzOf', '-', path]);
  return output || undefined;
}

export async function unpack(file: string, folder: string): Promise<void> {
  await extract(file, ['-xpzf', '-', '--numeric-owner', '-C', folder]);
}

/** Unpacks an uncompressed tar file. Its contents will belong to this user, no matter who owned them before. */
export async function unpackAsOwn(file: string, folder: string): Promise<void> {
  await extract(file, ['-xpof', '-', '-C', folder]);
}

async function extract(file: string, args: string[]): Promise<void> {
  const { code, errors } = await runTarOnFile(file, args);
  if (code !== 0) throw new Error(lastLine(errors));
}

/** Passes the file through standard input, because tar takes a name with a colon for a file on another machine. */
async function runTarOnFile(file: string, args: string[]): Promise<Result> {
  const input = await open(file);
  try {
    return await tar(args, { input });
  } finally {
    await input.close();
  }
}

async function tar(args: string[], { input, ...options }: SpawnOptions & { input?: FileHandle }): Promise<Result> {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' };
  const child = spawn('tar', args, { cwd: '/', env, ...options, stdio: [input?.fd ?? 'ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [[code], output, errors] = await Promise.all([ended, text(child.stdout as Readable), text(child.stderr as Readable)]);
  return { code, output, errors };
}

const lastLine = (errors: string): string =>
  errors
    .trim()
    .split('\n')
    .find((line) => !/^tar: (Child|Error)/.test(line)) ?? errors;
