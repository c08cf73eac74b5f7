import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { prepareSample } from '../../src/main/wiring/prepare-sample.ts';
import { registerPlugins } from '../../src/main/wiring/register-plugins.ts';
import { createEvaluationCheck, graderCaller } from '../../src/main/wiring/runs/graders.ts';
import { getContextWindow, windowFinder, windowKeeper } from '../../src/main/wiring/runtime-options.ts';
import { getLogOrigin } from '../../src/main/wiring/traces.ts';
import { listPlugins } from '../../src/toolrunner/index.ts';

const INSPECTED = { valid: true, error: null, description: 'Adds', inferred_schema: {}, effect: 'read', network: true, env: {} };

describe('the bundled tools', () => {
  /** Registers them, and returns what was created, changed and logged. */
  async function register({ inspected = {}, existing = null, refusal }: Register) {
    const done: { created: object[]; updated: object[]; lines: string[] } = { created: [], updated: [], lines: [] };
    const customTools = {
      findNamed: async () => existing,
      create: async (fields: object) => {
        if (refusal) throw refusal;
        done.created.push(fields);
      },
      update: async (_id: string, fields: object) => void done.updated.push(fields),
    };
    const runner = { inspect: async () => ({ ...INSPECTED, ...inspected }) };
    const log = (line: string) => done.lines.push(line);
    await registerPlugins({ store: { customTools }, runner, log } as unknown as Parameters<typeof registerPlugins>[0]);
    return done;
  }
  interface Register {
    inspected?: object;
    existing?: { id: string; is_plugin: boolean; env_config: object } | null;
    refusal?: Error;
  }

  it.each<[string, Register, string]>([
    ['cannot be inspected', { inspected: { valid: false, error: 'no Python' } }, 'no Python'],
    ['have the name of another tool', { existing: { id: '1', is_plugin: false, env_config: {} } }, 'a tool of this name exists'],
  ])('are left out if they %s', async (_, facts, reason) => {
    const names = (await listPlugins()).map(({ name }) => name);
    const { created, updated, lines } = await register(facts);
    expect([created, updated]).toEqual([[], []]);
    expect(lines).toEqual(names.map((name) => `The bundled tool ${name} is left out: ${reason}`));
    expect(names).toContain('calculate');
  });

  it.each([
    [{}, { effect: 'read', network: true }],
    [
      { effect: null, network: null },
      { effect: 'write', network: false },
    ],
  ])('that declare %j are registered with %j', async (inspected, fields) => {
    const { created, updated } = await register({ inspected });
    expect([created[0], updated]).toEqual([expect.objectContaining({ ...fields, is_plugin: true }), []]);
    const again = await register({ inspected, existing: { id: '1', is_plugin: true, env_config: {} } });
    expect([again.created, again.updated[0]]).toEqual([[], expect.objectContaining(fields)]);
  });

  it('may have been registered by another process at the same moment', async () => {
    expect((await register({ refusal: new AppError('conflict', 'Taken', { code: 'name_taken' }) })).created).toEqual([]);
    const refusals = [new AppError('conflict', 'Other', { code: 'in_use' }), new Error('Down')];
    for (const refusal of refusals) await expect(register({ refusal })).rejects.toThrow(refusal);
  });
});

it('the sample is left out if its tool cannot be inspected', async () => {
  const lines: string[] = [];
  const samples = { moveDemoModel: async () => {}, isSettled: async () => false };
  const runner = { inspect: async () => ({ ...INSPECTED, valid: false, error: 'no Python' }) };
  const core = { store: { samples }, runner, log: (line: string) => lines.push(line) };
  const owner = { provider: 'local', subject: 'alice', login: 'alice' };
  await prepareSample(
    core as unknown as Parameters<typeof prepareSample>[0],
    { demo_model_url: 'http://127.0.0.1:9', owner } as never,
  );
  expect(lines).toEqual(['The sample is left out: its tool could not be inspected: no Python']);
});

describe('an evaluation', () => {
  it('that was deleted starts no more', async () => {
    const core = { store: { evaluations: { leftToRun: async () => null } }, mayStart: async () => null };
    const authorize = createEvaluationCheck(core as unknown as Parameters<typeof createEvaluationCheck>[0]);
    await expect(authorize('e7', { uses_token: false })).rejects.toThrow('No evaluation with id e7');
  });

  it.each([
    [null, 'No custom tool with id t3: it was deleted after the evaluation had started'],
    [{ name: 'exact', is_enabled: false }, 'The custom tool exact is disabled; enable it and start another evaluation'],
  ])('learns why its tool %j does not grade', async (tool, fault) => {
    const core = { store: { customTools: { find: async () => tool } }, setting: { config: {} } };
    const callGrader = graderCaller(core as unknown as Parameters<typeof graderCaller>[0]);
    const order = { tool_id: 't3', owner: 'local:alice', call_key: 'k', judged_answer: {} } as never;
    expect(await callGrader(order, new AbortController().signal)).toEqual({ fault });
  });
});

describe('the context window', () => {
  const provider = { id: 'p1', provider_type: 'openai_compatible', base_url: null, context_window: null, azure_deployment: null };
  const setting = { default_runtime: { model: 'gpt-4o' }, config: { DEFAULT_CONTEXT_WINDOW: 1_009 } };
  const kept: unknown[] = [];
  const asked: unknown[] = [];
  const windows = {
    find: async (...of: unknown[]) => void asked.push(of),
    keepRefused: async (...of: unknown[]) => void kept.push(of),
  };
  const core = { setting, store: { windows } } as unknown as Parameters<typeof windowFinder>[0];

  it('of a run that names no model is that of the default model, or of its provider', async () => {
    const of = (model: string | null) => getContextWindow(core)({ model, provider: null }).tokens;
    expect([of(null), of('another')]).toEqual([of('gpt-4o'), 1_009]);
    const { tokens } = await windowFinder(core)({ model: null, provider } as never);
    expect([tokens, asked]).toEqual([1_009, [['p1', '']]]);
  });

  it('that an endpoint names is kept for its provider, if there is one', async () => {
    await windowKeeper(core)({ model: 'small', provider: null }, 503);
    await windowKeeper(core)({ model: null, provider } as never, 509);
    expect(kept).toEqual([[provider, { model: '', context_window: 509 }]]);
  });
});

it('a line of the log names the trace, if there is one', () => {
  expect([getLogOrigin(null), getLogOrigin({ ids: () => ({ trace_id: 't7' }) } as never)]).toEqual([{}, { trace_id: 't7' }]);
});
