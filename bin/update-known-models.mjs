#!/usr/bin/env node
// Writes src/domain/known-models.json from LiteLLM's table of models, which its package carries and which names the vendors' own pages:
//
//   pip download litellm --no-deps && npm run known-models -- litellm-*.whl
//
// Takes the package or the table itself. `--day 2026-11-28` names the day on which the table was published; by default, today.
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { unzipSync } from 'fflate';

const TARGET = new URL('../src/domain/known-models.json', import.meta.url);
const TABLE = 'litellm/model_prices_and_context_window_backup.json';

/** The vendors whose endpoints Perdura knows: their names in the table and here. */
const VENDORS = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  moonshot: 'moonshotai',
};

async function readTable(path) {
  const bytes = await readFile(path);
  const table = path.endsWith('.whl') ? unzipSync(bytes, { filter: ({ name }) => name === TABLE })[TABLE] : bytes;
  if (!table) throw new Error(`${path} has no ${TABLE}`);
  return JSON.parse(new TextDecoder().decode(table));
}

/** Returns the models of the known vendors that write text, sorted by vendor and id. */
function toModels(table) {
  const by_name = new Map();
  for (const [key, row] of Object.entries(table)) {
    const vendor = VENDORS[row.litellm_provider];
    const id = key.replace(`${row.litellm_provider}/`, '').toLowerCase();
    // Tuned models have separate prices for each organisation. The table also lists things that are no models.
    const usable = vendor && ['chat', 'responses'].includes(row.mode) && row.max_input_tokens && !/^ft:|\//.test(id);
    const writes_text = row.supported_output_modalities?.includes('text') ?? true;
    if (usable && writes_text) by_name.set(`${vendor} ${id}`, { id, aliases: [], vendor, ...toFacts(row, vendor) });
  }
  for (const [name, model] of by_name) {
    const main = by_name.get(name.replace(/-(latest|20\d\d-\d\d-\d\d|20\d{6})$/, ''));
    if (!main || main === model || factsOf(main) !== factsOf(model)) continue;
    main.aliases.push(model.id);
    by_name.delete(name);
  }
  const order = ({ vendor, id }) => `${vendor} ${id}`;
  return [...by_name.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** A name is an alias only if everything that is known about both is equal: a snapshot may have another price or end. */
const factsOf = ({ id: _, aliases: __, source: ___, ...facts }) => JSON.stringify(facts);

const toFacts = (row, vendor) => ({
  price: toPrice(row),
  context_window: row.max_input_tokens,
  max_output: row.max_output_tokens ?? null,
  efforts: toEfforts(row, vendor),
  modalities: { input: toInputs(row), output: row.supported_output_modalities ?? ['text'] },
  tools: row.supports_function_calling ?? null,
  structured_output: row.supports_response_schema ?? null,
  deprecated_on: null,
  ends_on: row.deprecation_date ?? null,
  successor: row.successor_model?.split('/').at(-1) || null,
  source: row.deprecation_source ?? row.source ?? 'https://github.com/BerriAI/litellm',
  as_of: day,
});

/** The table has dollars per token. A price of zero means that the table has none. */
const perMillion = (dollars) => (dollars ? Number((dollars * 1_000_000).toPrecision(10)) : undefined);

function toPrice(row) {
  const at = (suffix) => ({
    input: perMillion(row[`input_cost_per_token${suffix}`]),
    output: perMillion(row[`output_cost_per_token${suffix}`]),
    cache_read: perMillion(row[`cache_read_input_token_cost${suffix}`]),
    cache_write: perMillion(row[`cache_creation_input_token_cost${suffix}`]),
  });
  const price = at('');
  if (!price.input || !price.output) return null;
  const [, thousands] = /^input_cost_per_token_above_(\d+)k_tokens$/m.exec(Object.keys(row).join('\n')) ?? [];
  const above = thousands && at(`_above_${thousands}k_tokens`);
  const { input, output } = at('_batches');
  return {
    ...price,
    ...(above?.input && above.output ? { above: { tokens: Number(thousands) * 1_000, ...above } } : {}),
    ...(input && output ? { batch: { input, output } } : {}),
  };
}

/** Null: unknown. Empty: the model takes none. */
function toEfforts(row, vendor) {
  if (row.reasoning_effort_levels) return row.reasoning_effort_levels;
  if (!row.supports_reasoning || (vendor === 'anthropic' && !row.supports_output_config)) return [];
  if (!['openai', 'anthropic', 'google'].includes(vendor)) return null;
  const takes = (effort, otherwise) => row[`supports_${effort}_reasoning_effort`] ?? otherwise;
  return ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].filter((effort) =>
    takes(effort, ['low', 'medium', 'high'].includes(effort)),
  );
}

function toInputs(row) {
  const seen = {
    image: row.supports_vision,
    pdf: row.supports_pdf_input,
    audio: row.supports_audio_input,
    video: row.supports_video_input,
  };
  const listed = row.supported_modalities ?? ['text'];
  return [...new Set([...listed, ...Object.keys(seen).filter((kind) => seen[kind])])];
}

const { values, positionals } = parseArgs({ options: { day: { type: 'string' } }, allowPositionals: true });
if (positionals.length !== 1) throw new Error('Name the package of LiteLLM (a .whl) or its table (a .json)');
const day = values.day ?? new Date().toISOString().slice(0, 10);

const models = toModels(await readTable(positionals[0]));
const lines = models.map((model) => `    ${JSON.stringify(model)}`).join(',\n');
await writeFile(TARGET, `{\n  "format": 1,\n  "models": [\n${lines}\n  ]\n}\n`);
process.stdout.write(`${models.length} models as of ${day}\n`);
