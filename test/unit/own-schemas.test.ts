import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { parseExact } from '../../src/domain/exact-json.ts';
import { argumentFitter } from '../../src/main/wiring/parsers.ts';
import { fitArguments } from '../../src/parsers/child/arguments.ts';
import { builtinSpecs } from '../../src/tools/builtin/index.ts';
import { createAgentToolbox } from '../../src/tools/for-agent.ts';
import { fitsOwnSchema } from '../../src/tools/own-schemas.ts';
import { ToolUnreachable } from '../../src/tools/source.ts';
import { testParsers } from '../support/contract/parsers.ts';

const open = testParsers();
const closed = testParsers();
await closed.close();
afterAll(() => open.close());

const setting = { config: { JUDGE_SECONDS: 5 } } as never;
const checkArguments = argumentFitter({ parsers: open.parsers, setting });
/** Checks arguments without a parser process: it has ended. */
const checkInProcess = argumentFitter({ parsers: closed.parsers, setting });

const run = { owner: 'local:alice' };
const specs = builtinSpecs();
const specOf = (name: string) => specs.find((spec) => spec.name === name)!;

interface Described {
  type: string;
  enum?: unknown[];
  items?: object;
  properties?: Record<string, object>;
  required?: string[];
}

const ODD = fc.constantFrom<unknown>('', '1', 'true', -1, 0, 0.5, 1e300, null, [], {}, [null]);
const PLAIN: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.string(),
  integer: fc.integer({ min: 1, max: 100 }),
  number: fc.integer({ min: 1, max: 100 }),
  boolean: fc.boolean(),
};

/** Values of a schema, some of which do not fit it in places. */
function valuesOf(schema: object, odd = 40): fc.Arbitrary<unknown> {
  const { type, enum: options, items, properties = {}, required = [] } = schema as Described;
  const fitting = () => {
    if (options) return fc.constantFrom(...options);
    if (type === 'array') return fc.array(valuesOf(items!, odd), { maxLength: 3 });
    const parts = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, valuesOf(part, odd)]));
    return type === 'object' ? fc.record(parts, { requiredKeys: required }) : PLAIN[type]!;
  };
  return fc.oneof({ weight: odd, arbitrary: fitting() }, { weight: 1, arbitrary: ODD });
}

it.each(specs)(
  'arguments of $name that fit its schema need no parser process, and it would not change them',
  ({ name, parameters }) => {
    const seen = { fitting: 0 };
    const args = valuesOf(parameters).filter((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
    fc.assert(
      fc.property(args as fc.Arbitrary<Record<string, unknown>>, (given) => {
        if (!fitsOwnSchema(parameters, given)) return;
        seen.fitting += 1;
        expect(fitArguments({ schema: parameters, args: structuredClone(given) }), name).toEqual({ arguments: given });
      }),
      { numRuns: 200 },
    );
    expect(seen.fitting).toBeGreaterThan(20);
  },
);

it('a run checks a call of a built-in tool in process', async () => {
  const ports = { fitArguments: checkInProcess } as unknown as Parameters<typeof createAgentToolbox>[1];
  const definition = { tools: [{ kind: 'builtin' as const, name: 'manage_todo_list' }] };
  const { call } = createAgentToolbox(definition, ports, { custom_tools: false, toolset: null });
  const todos = [{ id: 1, title: 'Look', status: 'completed' }];
  const outcome = await call(
    { call_id: 'c', name: 'manage_todo_list', call_key: 'k', arguments: { todoList: todos }, run } as never,
    new AbortController().signal,
  );
  expect(outcome.failed).toBe(false);
});

it('a schema with the same text as a built-in one is foreign: only the parser process compiles it', async () => {
  const { name, parameters } = specOf('read');
  const arguments_of = { arguments: { file_path: 'a' }, run };
  expect(await checkInProcess({ name, parameters }, arguments_of)).toEqual({ arguments: { file_path: 'a' } });
  await expect(checkInProcess({ name, parameters: { ...parameters } }, arguments_of)).rejects.toThrow(ToolUnreachable);
  expect(await checkArguments({ name, parameters: { ...parameters } }, arguments_of)).toEqual({ arguments: { file_path: 'a' } });
});

it('arguments that do not fit a built-in schema are converted, or refused with the field', async () => {
  const read = (args: object) => checkArguments(specOf('read'), { arguments: args as Record<string, unknown>, run });
  expect(await read({ file_path: 'a', limit: '5' })).toEqual({ arguments: { file_path: 'a', limit: 5 } });
  expect(await read({ file_path: 'a', limit: null })).toEqual({ arguments: { file_path: 'a' } });
  expect(await read({})).toEqual({ refusal: expect.stringContaining('`file_path` is required') });
  const exact = parseExact('{"file_path": "a", "limit": 1234567890123456789}') as object;
  expect(JSON.stringify(await read(exact))).toBe('{"arguments":{"file_path":"a","limit":1234567890123456789}}');
});
