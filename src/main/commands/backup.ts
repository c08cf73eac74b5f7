import { resolve } from 'node:path';
import { backUp } from '../../embedded/backup.ts';
import type { Config } from '../config.ts';
import { PERDURA_VERSION } from '../places.ts';
import { parseCommand } from '../remote/options.ts';
import { note, sayJson } from '../terminal.ts';
import { untilSignal } from '../until-signal.ts';

/** `perdura backup`: writes a backup of the installation in the home folder to one file. */
export default async function runBackup(config: Config, args: string[]): Promise<void> {
  const { file, with_key, force, json } = parseArguments(args);
  if (config.DATABASE_URL || config.TEMPORAL_ADDRESS)
    throw new Error(
      'perdura backup is for the servers that npm start brings. DATABASE_URL or TEMPORAL_ADDRESS names an external server: back it up as docs/backups.md describes.',
    );
  const stop = new AbortController();
  void untilSignal().then(() => stop.abort());
  const options = { home: config.PERDURA_HOME, file, version: PERDURA_VERSION, with_key, force };
  const bytes = await backUp({ ...options, signal: stop.signal, log: note });
  note(`${file} is complete: ${(bytes / 1e6).toFixed(1)} MB, readable by this user only.`);
  note(
    with_key
      ? 'It contains the encryption key and the access token: anyone who reads it can open the stored tokens. --without-key leaves the key out.'
      : `It does not contain the encryption key: keep ${config.PERDURA_HOME}/encryption-key elsewhere. Without it a restored installation does not start.`,
  );
  if (json) sayJson({ file, bytes, with_key });
}

function parseArguments(args: string[]) {
  const given = parseCommand('backup', args);
  return {
    file: resolve(given.words[0]!),
    with_key: !given.has('without-key'),
    force: given.has('force'),
    json: given.has('json'),
  };
}
