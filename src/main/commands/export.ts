import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { Config } from '../config.ts';
import { JSON_OPTION, parseOptions } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { note, print } from '../terminal.ts';

/** `perdura export`: prints JSON, or YAML if an option or the file's name asks for it. */
export default async function exportAll(config: Config, args: string[]): Promise<void> {
  const options = { ...JSON_OPTION, output: { type: 'string', short: 'o' }, yaml: { type: 'boolean' } } as const;
  const { values } = parseOptions('export', args, { options });
  const bundle = await (await remoteClient(config)).request('GET /api/export');
  const yaml = values.yaml || (!values.json && /\.ya?ml$/.test(values.output ?? ''));
  const text = yaml ? stringify(bundle) : `${JSON.stringify(bundle, null, 2)}\n`;
  if (!values.output) {
    print(text);
    return;
  }
  await writeFile(values.output, text);
  note(`Exported to ${values.output}`);
}
