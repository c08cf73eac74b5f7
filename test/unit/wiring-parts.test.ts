import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { OutageError } from '../../src/domain/outages.ts';
import { redactor } from '../../src/domain/redaction.ts';
import { readConfig } from '../../src/main/config.ts';
import { openKnowledge } from '../../src/main/wiring/knowledge.ts';
import { createMcpProbe } from '../../src/main/wiring/mcp-probe.ts';
import { createMcpSignIns } from '../../src/main/wiring/mcp-sign-ins.ts';
import { argumentFitter, pageReader } from '../../src/main/wiring/parsers.ts';
import { prepareSample } from '../../src/main/wiring/prepare-sample.ts';
import { registerPlugins } from '../../src/main/wiring/register-plugins.ts';
import { createEvaluationCheck, graderCaller } from '../../src/main/wiring/runs/graders.ts';
import { getContextWindow, windowFinder, windowKeeper } from '../../src/main/wiring/runtime-options.ts';
import { getLogOrigin } from '../../src/main/wiring/traces.ts';
import { ParserFailure } from '../../src/parsers/failure.ts';
import { toRunId } from '../../src/temporal/names.ts';
import { listPlugins } from '../../src/toolrunner/index.ts';
import type { FitArguments } from '../../src/tools/arguments.ts';
import { reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { inActivity } from '../support/runs/in-activity.ts';
import { serverOf } from '../tools/support.ts';

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

describe('a tool that grades', () => {
  const TOOL = { name: 'exact', is_enabled: true, source_code: '', parameters_schema: {}, network: false };
  async function grade(more: object, fit: object) {
    const calls: object[] = [];
    const core = {
      store: {
        customTools: { find: async () => ({ ...TOOL, ...more }) },
        tokens: { open: async (of: object) => JSON.stringify(of) },
      },
      parsers: { run: async () => fit },
      runner: { run: async (call: object) => [calls.push(call), { result: '{"passed": true}', error: null }].at(1) },
      setting: { config: readConfig({}) },
    };
    const order = { tool_id: 't3', owner: 'local:alice', call_key: 'k', judged_answer: {} } as never;
    const verdict = await graderCaller(core as never)(order, new AbortController().signal);
    return { verdict, calls };
  }

  it.each<[string, object, object, string]>([
    ['does not take the answer', {}, { faults: ['answer is missing'] }, 'The arguments do not fit: answer is missing. '],
    [
      'has a variable without a token',
      { env_config: { KEY: {} } },
      { arguments: {} },
      'The variable KEY is mapped to no stored token',
    ],
  ])('and %s is not called, with the reason', async (_, more, fit, reason) => {
    const { verdict, calls } = await grade(more, fit);
    expect(verdict).toEqual({ fault: expect.stringContaining(`The custom tool exact was not called: ${reason}`) });
    expect(calls).toEqual([]);
  });

  it('is called with its arguments and variables', async () => {
    const env_config = { KEY: { token_name: 'stored' } };
    const { calls } = await grade({ env_config }, { arguments: { answer: 7 } });
    expect(calls).toEqual([
      expect.objectContaining({ arguments: { answer: 7 }, env: { KEY: expect.stringContaining('"name":"stored"') } }),
    ]);
  });
});

describe('what a parser process refuses', () => {
  const failing = (error: Error) =>
    ({ parsers: { run: () => Promise.reject(error) }, setting: { config: readConfig({}) } }) as never;
  const outcomeOf = (work: Promise<unknown>) => work.catch(({ name, message }: Error) => `${name}: ${message}`);

  it('is the reason why a page cannot be read; another failure is not hidden', async () => {
    const read = (error: Error) => outcomeOf(pageReader(failing(error))('<p>', 'alice'));
    expect(await read(new ParserFailure('timeout', 'it takes too long'))).toBe(
      'Error: the page cannot be read: it takes too long',
    );
    expect(await read(new TypeError('a defect'))).toBe('TypeError: a defect');
  });

  it.each<[string, Error, unknown]>([
    ['the model reads', new ParserFailure('timeout', 'slow'), { refusal: 'SLOW. The tool was not called' }],
    ['the model reads', new ParserFailure('memory', 'slow'), { refusal: 'SLOW. The tool was not called' }],
    ['is tried again', new ParserFailure('busy', 'slow'), 'ToolUnreachable: SLOW'],
    ['is tried again', new ParserFailure('ended', 'slow'), 'ToolUnreachable: SLOW'],
    ['is a defect', new TypeError('slow'), 'TypeError: slow'],
  ])('of the arguments of a call %s: %s', async (_, error, outcome) => {
    const order = [
      { name: 'look', parameters: { type: 'object' } },
      { arguments: { a: 1n }, run: { owner: 'alice' } },
    ] as const;
    const sentence = 'The arguments of look could not be checked against its schema: slow';
    const found = await outcomeOf(argumentFitter(failing(error))(...(order as unknown as Parameters<FitArguments>)));
    expect(JSON.parse(JSON.stringify(found).replace(sentence, 'SLOW'))).toEqual(outcome);
  });
});

describe('a server of MCP', () => {
  const config = readConfig({});
  const alice = { key: 'local:alice', access_token: 'x' } as never;
  const SERVER = { id: 's7', name: 'odd', allowed_tools: [], status: 'error', last_error: null, created_by: 'local:alice' };
  const probeOf = (found: object, open = async (_: object): Promise<string> => 'x') =>
    createMcpProbe({
      store: {
        mcpListings: { of: async () => new Map() },
        mcpServers: { findOpened: async () => serverOf(found), setStatus: async () => {} },
        mcpSignIns: { find: async () => null },
        tokens: { open },
      },
      setting: { config, version: 'test' },
      ...{ runner: {}, mcp_packages: {}, parsers: {}, secrets: { redact: redactor() } },
      egress: { configuration: { fetch }, limits: { message: 1e6 } },
    } as never);
  const NOBODY = { transport_type: 'http', connection_config: { url: 'http://127.0.0.1:29999/mcp', headers: {} } };

  it.each([
    [null, 'The server cannot be reached; try again with POST /api/mcps/s7/tools/refresh'],
    ['It is full', 'It is full; try again with POST /api/mcps/s7/tools/refresh'],
  ])('that has listed nothing, with the last error %j, has no tools to show', async (last_error, sentence) => {
    await expect(probeOf(NOBODY).loadTools({ ...SERVER, last_error } as never, alice)).rejects.toThrow(sentence);
  });

  it('that nobody serves cannot be refreshed, nor asked for its prompts', async () => {
    const { refresh, listPrompts } = probeOf({ ...NOBODY, name: 'odd' });
    await expect(refresh(SERVER as never, alice)).rejects.toThrow(/^The MCP server odd cannot be reached: .*ECONNREFUSED/);
    await expect(listPrompts(SERVER as never, alice)).rejects.toThrow(/^The MCP server odd cannot be reached: .*ECONNREFUSED/);
  });

  it('that breaks off a request cannot be used', async () => {
    const peer = await startOddHttpMcpServer(({ id, method, params }, response) => {
      const facts = { protocolVersion: params?.protocolVersion, serverInfo: { name: 'odd', version: '1' } };
      if (method === 'initialize') return reply(response, id, { result: { ...facts, capabilities: { prompts: {} } } });
      return method === 'prompts/list' && response.destroy();
    });
    onTestFinished(() => peer.stop());
    const { listPrompts } = probeOf({ transport_type: 'http', connection_config: { url: peer.url, headers: {} } });
    await expect(listPrompts(SERVER as never, alice)).rejects.toThrow(/^The MCP server odd cannot be used: /);
  });

  it('whose token is missing is reported with that reason', async () => {
    const headers = { authorization: 'Bearer {{token:gone}}' };
    const open = () => Promise.reject(new Error('There is no stored token named gone'));
    const { listPrompts } = probeOf({ ...NOBODY, connection_config: { ...NOBODY.connection_config, headers } }, open);
    await expect(listPrompts(SERVER as never, alice)).rejects.toThrow(/^There is no stored token named gone$/);
  });

  it('cannot send a browser back to an installation without an address', async () => {
    const core = { store: {}, setting: { public_url: () => null }, egress: { configuration: { fetch } } };
    await expect(createMcpSignIns(core as never).begin({ id: 's7', name: 'odd' } as never, alice)).rejects.toMatchObject({
      code: 'public_url_needed',
      message: expect.stringContaining('set PERDURA_PUBLIC_URL'),
    });
  });
});

describe('a source of knowledge whose token cannot be opened', () => {
  const search = (error: Error) =>
    openKnowledge({
      store: {
        knowledgeItems: { search: async () => [] },
        knowledgeSources: {
          listOpened: async () => [
            {
              id: 'k7',
              name: 'far',
              source_type: 'vector_db',
              connection_config: { url: 'http://127.0.0.1:1', api_key: '{{token:a}}' },
            },
          ],
        },
        tokens: { open: () => Promise.reject(error) },
      },
      ...{ egress: { fetch, rules: {} }, secrets: { redact: redactor() }, embeddings: null, embeddingFetch: fetch },
    } as never).search({ query: 'x', limit: 3, principal: 'local:alice' });

  it('is left out with a warning, unless the database is down', async () => {
    const { warnings } = await search(new AppError('forbidden', 'The token a is not yours'));
    expect(warnings.at(-1)).toBe('The source far was not searched: The token a is not yours');
    const outage = new OutageError({ code: 'database_unavailable', sentence: 'The database is down' });
    await expect(search(outage)).rejects.toThrow(outage);
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

it('a line of the log names the trace, if there is one, and the task whose activity writes it', async () => {
  const tracing = { ids: () => ({ trace_id: 't7' }) } as never;
  expect([getLogOrigin(null), getLogOrigin(tracing)]).toEqual([{}, { trace_id: 't7' }]);
  const writeIn = (workflow_id: string) => inActivity({ workflow_id }, async () => getLogOrigin(tracing));
  expect(await writeIn(toRunId('k5'))).toEqual({ task_id: 'k5', trace_id: 't7' });
  expect(await writeIn('perdura-other-k5')).toEqual({ trace_id: 't7' });
});
