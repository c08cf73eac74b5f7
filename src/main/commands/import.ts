import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { BundleImportResult, FullImport, ImportResult, PerduraClient } from '../../client/index.ts';
import type { ResourceType } from '../../contracts/transfer.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { note, say, sayJson } from '../terminal.ts';

/** `perdura import <file>`: exits with 1 if an item was not created. */
export default async function importAll(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('import', args);
  const file = given.words[0]!;
  const body = parseBundle(await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')), file);
  const { warnings = [], ...results } = await sendImport(await remoteClient(config), body, given.has('dry-run'));
  for (const { message } of warnings) note(`warning: ${message}`);
  if (given.has('json')) sayJson(results);
  else report(results, given.has('dry-run') ? 'would be created' : 'created');
  if (Object.values(results).some(({ errors }) => errors.length > 0)) process.exitCode = 1;
}

const sendImport = (client: PerduraClient, body: FullImport, dry_run: boolean): Promise<BundleImportResult> =>
  client.request('POST /api/import', { query: { dry_run }, body });

const PARTS: Partial<Record<string, string>> = {
  skill: 'skills',
  guardrail: 'guardrails',
  agent: 'agents',
  workflow: 'workflows',
  knowledge_source: 'knowledge_sources',
  scheduled_agent: 'scheduled_agents',
} satisfies Record<ResourceType, keyof FullImport>;

/** Parses a full bundle, or one of a single kind with its `items`. The YAML parser also reads JSON. */
export function parseBundle(source: string, file: string): FullImport {
  const bundle = parseYamlFile(source, file);
  if (typeof bundle !== 'object' || bundle === null || Array.isArray(bundle)) throw new Error(`${file} is not an export bundle`);
  const { items, resource_type, ...rest } = bundle as { items?: unknown; resource_type?: string };
  const part = PARTS[resource_type ?? ''];
  return (part ? { ...rest, [part]: items } : bundle) as FullImport;
}

function parseYamlFile(source: string, file: string): unknown {
  try {
    return parse(source, { logLevel: 'error' });
  } catch (error) {
    throw new Error(`${file} is not valid YAML or JSON: ${(error as Error).message.split('\n')[0]}`);
  }
}

function report(results: Record<string, ImportResult>, what: string): void {
  for (const [part, { created, errors, warnings }] of Object.entries(results)) {
    if (created > 0) say(`${part.replaceAll('_', ' ')}: ${created} ${what}`);
    for (const { message } of warnings) note(`warning: ${message}`);
    for (const error of errors) note(`not created: ${error}`);
  }
}
