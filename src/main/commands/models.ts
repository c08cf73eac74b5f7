import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CatalogueInUse } from '../../contracts/model-catalogue.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura models show`, `update` and `reset`: shows or replaces the catalogue of models of an installation. */
export default async function models(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('models', args);
  const client = await remoteClient(config);
  const send: Record<string, () => Promise<CatalogueInUse>> = {
    show: () => client.request('GET /api/models/catalogue'),
    update: async () => {
      const digest = given.text('digest');
      const source = await readSource(given.words[0]!);
      return client.request('POST /api/models/catalogue', {
        body: { ...source, ...(digest ? { digest } : {}), force: given.has('force') },
      });
    },
    reset: () => client.request('DELETE /api/models/catalogue'),
  };
  const in_use = await send[given.verb!]!();
  if (given.has('json')) sayJson(in_use);
  else report(in_use);
}

/** An address is fetched by the installation, by its rules for addresses. */
async function readSource(file: string): Promise<{ url: string } | { text: string; file_name: string }> {
  if (/^https?:\/\//i.test(file)) return { url: file };
  if (file === '-') return { text: await text(process.stdin), file_name: 'stdin' };
  return { text: await readFile(file, 'utf8'), file_name: basename(file) };
}

function report({ from, as_of, digest, source, updated_by, updated_at, models }: CatalogueInUse): void {
  say(`${models.length} ${models.length === 1 ? 'model' : 'models'}, the newest entry of ${as_of}`);
  say(from === 'release' ? 'from this version of Perdura' : `from ${source}, ${updated_at?.slice(0, 10)}, by ${updated_by}`);
  if (digest) say(digest);
  const priced = (vendor: string) => models.filter((model) => model.vendor === vendor && model.price !== null).length;
  for (const [vendor, of_vendor] of Map.groupBy(models, (model) => model.vendor))
    say(`${vendor.padEnd(12)}  ${String(of_vendor.length).padStart(4)} models, ${priced(vendor)} with a price`);
}
