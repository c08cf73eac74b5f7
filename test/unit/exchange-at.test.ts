import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { rebuildExchange } from '../../src/replay/exchange-at.ts';
import { digestExchange } from '../../src/replay/replay.ts';

const FOLDER = join(import.meta.dirname, '../temporal/bundles');
const read = async (file: string) => JSON.parse(await readFile(join(FOLDER, file), 'utf8')) as RunBundle;

/** Recorded runs, with a digest of what their models were sent. */
describe('the request of a step is what the run sent its model', async () => {
  it.each(await readdir(FOLDER))('%s', async (file) => {
    const bundle = await read(file);
    const known = bundle.steps.filter(({ input }) => input !== null);
    expect(known.length).toBeGreaterThan(0);
    for (const { step, input } of known) {
      const exchange = await rebuildExchange(bundle, step);
      expect({ step, digest: digestExchange(exchange), messages: exchange.transcript.length }).toEqual({ step, ...input });
    }
  });
});

it('can be built for a step that was copied into a fork', async () => {
  const bundle = await read('forked.json');
  expect(bundle.steps[0]).toMatchObject({ copied: true });
  const { transcript, tools } = await rebuildExchange(bundle, 1);
  expect(transcript.at(-1)).toMatchObject({ kind: 'prompt', content: bundle.task.prompt });
  expect(tools).toEqual(bundle.tools);
});

it('offers no tools at the step that had to do without', async () => {
  const bundle = await read('denied.json');
  const offered = await Promise.all(bundle.steps.map(async ({ step }) => (await rebuildExchange(bundle, step)).tools.length));
  expect(offered.at(-1)).toBe(0);
  expect(offered[0]).toBeGreaterThan(0);
});

it('is what was sent, although the window is smaller now and the budget is used up', async () => {
  const bundle = await read('tools.json');
  const budget = { max_cost_usd: null, max_tokens: 1, max_seconds: null, on_exhausted: 'wait' as const };
  const later = { ...bundle, runtime: { ...bundle.runtime, context_window: 10 }, task: { ...bundle.task, budget } };
  expect(bundle.steps).not.toEqual([]);
  for (const { step, input } of bundle.steps) expect(digestExchange(await rebuildExchange(later, step))).toBe(input?.digest);
});

it('is not taken for what another failure says', async () => {
  const bundle = await read('tools.json');
  const damaged = { ...bundle, definition: { ...bundle.definition, skills: null as never } };
  await expect(rebuildExchange(damaged, 2)).rejects.toThrow(TypeError);
});

it('has another digest with the tools that a vendor runs, and with a call that it demands', async () => {
  const exchange = await rebuildExchange(await read('tools.json'), 1);
  const digests = [undefined, [{ type: 'web_search', name: 'web_search' }], [{ type: 'web_search', name: 'search' }]].map(
    (hosted_tools) => digestExchange({ ...exchange, ...(hosted_tools && { hosted_tools: hosted_tools as never }) }),
  );
  expect(digests[0]).toBe(digestExchange(exchange));
  expect(new Set(digests).size).toBe(3);
  expect(digestExchange({ ...exchange, must_call: true })).not.toBe(digests[0]);
});
