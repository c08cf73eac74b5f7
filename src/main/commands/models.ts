import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CatalogueInUse } from '../../contracts/model-catalogue.ts';
import type { Config } from '../config.ts';
import { JSON_OPTION, parseOptions, usageError } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { say, sayJson } from '../terminal.ts';

const OPTIONS = { ...JSON_OPTION, digest: { type: 'string' }, force: { type: 'boolean' } } as const;

/** `perdura models show`, `update` and `reset`: shows or replaces the catalogue of models of an installation. */
export default async function models(config: Config, args: string[]): Promise<void> {
  const { values, words } = parseOptions('models', args, { options: OPTIONS, words: ['verb', 'file?'] });
  const [verb, file] = words;
  if (verb !== 'show' && verb !== 'update' && verb !== 'reset') throw usageError('models', `There is no perdura models ${verb}`);
  if (verb === 'update' && file === undefined) throw usageError('models', 'The file or URL is missing');
  if (verb !== 'update' && (file !== undefined || values.digest !== undefined || values.force))
    throw usageError('models', `perdura models ${verb} takes no file, --digest or --force`);
  const client = await remoteClient(config);
  const send = {
    show: () => client.request('GET /api/models/catalogue'),
    update: async () => {
      const { digest, force = false } = values;
      return client.request('POST /api/models/catalogue', {
        body: { ...(await readSource(file!)), ...(digest ? { digest } : {}), force },
      });
    },
    reset: () => client.request('DELETE /api/models/catalogue'),
  };
  const in_use: CatalogueInUse = await send[verb]();
  if (values.json) sayJson(in_use);
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
