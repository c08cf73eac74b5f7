import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { buildStepRequest } from '../../src/main/wiring/step-requests.ts';
import { toDefinition } from '../../src/replay/recording.ts';

const read = async (name: string) =>
  JSON.parse(await readFile(join(import.meta.dirname, '../temporal/bundles', `${name}.json`), 'utf8')) as RunBundle;

interface Run {
  events?: object[];
  toolset?: object | null;
  /** Changes of the definition that the run is pinned to. */
  pinned?: object;
}

/** Builds the request of a step of a recorded run. */
const build = (bundle: RunBundle, step: number, { events = [], toolset = null, pinned = {} }: Run = {}) =>
  buildStepRequest(
    {
      bundle,
      definition: { ...toDefinition(bundle), ...pinned },
      record: { events: events.map((data) => ({ data })) as never, task: { toolset } },
    },
    step,
  );

it('a step that a run has not reached has no request', async () => {
  await expect(build(await read('tools'), 5)).rejects.toThrow('This run has no step 5; it has reached step 4');
});

it('what a run remembers is shown as memories', async () => {
  const { messages } = await build(await read('memories'), 1);
  expect(messages.map(({ kind }) => kind)).toEqual(['memories', 'prompt']);
});

describe('the model of a step', () => {
  it('is the one that answered if neither the run nor its provider names one', async () => {
    const bundle = await read('tools');
    const { provider } = bundle.definition;
    const unnamed = {
      ...bundle,
      definition: { ...bundle.definition, model: null, provider: { ...provider!, default_model: null } },
    };
    expect((await build({ ...bundle, definition: { ...bundle.definition, model: 'small' } }, 2)).model).toBe('small');
    expect((await build(unnamed, 2)).model).toBe('scripted');
    const steps = unnamed.steps.map((step) => ({ ...step, model: null }));
    expect(await build({ ...unnamed, steps }, 2)).toMatchObject({ model: null, parameters: { stream: true } });
  });

  it('is the one that the source run asked if the step was copied into a fork with another model', async () => {
    const bundle = await read('forked');
    const fork = { ...bundle, definition: { ...bundle.definition, model: 'large' } };
    const forked = (changes?: string[]) => ({
      events: [{ event: 'compaction' }, { event: 'forked', ...(changes && { changes }) }],
    });
    const ask = async (step: number, changes?: string[]) => {
      const { model, not_rebuilt } = await build(fork, step, forked(changes));
      return [model, not_rebuilt.map((sentence) => sentence.split('.')[0])];
    };
    const copied = 'This step was copied into a fork with changes';
    expect(await ask(1, ['model'])).toEqual(['scripted', [copied]]);
    expect(await ask(1, ['system_prompt'])).toEqual(['large', [copied]]);
    expect(await ask(1)).toEqual(['large', []]);
    expect(await ask(2, ['model'])).toEqual(['large', []]);
  });
});

describe('what cannot be rebuilt', () => {
  it('is what a provider that keeps the conversation was sent, until the run leaves it', async () => {
    const bundle = await read('fallen');
    const kept = { ...bundle, runtime: { ...bundle.runtime, keeps_context: true } };
    const vendor = { ...toDefinition(bundle).provider!, name: 'Vendor' };
    const other = { ...vendor, id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007' };
    const fallbacks = [{ ...toDefinition(bundle).fallbacks![0]!, provider: other }];
    const run = { pinned: { provider: vendor, fallbacks } };
    const sentence = expect.stringContaining('The provider Vendor keeps the conversation');
    expect(await build(kept, 1, run)).toMatchObject({ parameters: {}, not_rebuilt: [sentence] });
    expect(await build(kept, 2, run)).toMatchObject({ parameters: { stream: true }, not_rebuilt: [] });
    expect((await build(bundle, 1, run)).not_rebuilt).toEqual([]);
  });

  it('are tools of MCP servers that had not been listed', async () => {
    const bundle = await read('tools');
    const list = async (run: Run) => (await build(bundle, 1, run)).not_rebuilt;
    const pinned = { mcp_servers: [{ id: 'm' }] };
    expect(await list({ pinned })).toEqual(['The tools of the MCP servers are missing: the servers had not listed them yet.']);
    expect(await list({ pinned, toolset: {} })).toEqual([]);
    expect(await list({})).toEqual([]);
  });
});
