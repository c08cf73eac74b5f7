import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { note, print } from '../terminal.ts';

/** `perdura export`: prints JSON, or YAML if an option or the file's name asks for it. */
export default async function exportAll(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('export', args);
  const output = given.text('output');
  const bundle = await (await remoteClient(config)).request('GET /api/export');
  const yaml = given.has('yaml') || (!given.has('json') && /\.ya?ml$/.test(output ?? ''));
  const text = yaml ? stringify(bundle) : `${JSON.stringify(bundle, null, 2)}\n`;
  if (!output) {
    print(text);
    return;
  }
  await writeFile(output, text);
  note(`Exported to ${output}`);
}
