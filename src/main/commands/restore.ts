import { resolve } from 'node:path';
import { restore } from '../../embedded/restore.ts';
import type { Config } from '../config.ts';
import { MIGRATIONS } from '../places.ts';
import { parseCommand } from '../remote/options.ts';
import { note, sayJson } from '../terminal.ts';

/** `perdura restore`: unpacks a backup into the empty home folder. Starts nothing. */
export default async function runRestore({ PERDURA_HOME: home }: Config, args: string[]): Promise<void> {
  const given = parseCommand('restore', args);
  const [file = ''] = given.words;
  const { taken_at, with_key } = await restore({ home, file: resolve(file), migrations_folder: MIGRATIONS, log: note });
  note(`${home} now holds the installation as it was at ${taken_at}.`);
  if (!with_key) note(`Its encryption key is not in the backup: put it in ${home}/encryption-key before you start.`);
  note('Start it with npm start. Runs that had not ended continue; before a tool that writes is called again, they ask.');
  if (given.has('json')) sayJson({ home, taken_at, with_key });
}
