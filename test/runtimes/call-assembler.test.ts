import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOST_CALLS } from '../../src/domain/normalise.ts';
import { assembleCalls, type CallPart } from '../../src/runtimes/call-assembler.ts';

interface Called {
  name: string;
  args: object;
}

/** How an endpoint sends calls. Each field is a mannerism that some endpoint has; docs/runtimes.md names them. */
interface Manner {
  /** On every piece, on the first, the same for every call, a new one with every piece, or without content. */
  ids: 'each' | 'first' | 'constant' | 'changing' | 'empty' | 'null' | 'none';
  indexes: 'each' | 'skipping' | 'text' | 'first' | 'zero' | 'none';
  names: 'first' | 'each' | 'parts' | 'late';
  args: 'pieces' | 'whole' | 'object' | 'so far';
  /** What is sent before the arguments, with the name. */
  before: 'nothing' | 'empty text' | 'braces' | 'empty object';
  /** Sends every call again as a whole. */
  again: boolean;
  order: 'one by one' | 'interleaved' | 'by position';
  /** The number of pieces in a chunk. */
  packed: number;
}

const NAMES = ['lo', 'look', 'look_up', 'ping', 'ok'];

const calledArbitrary = fc.record({
  name: fc.constantFrom(...NAMES),
  args: fc.dictionary(
    fc.constantFrom('city', 'at', 'a "b"', 'ü{}'),
    fc.oneof(fc.string(), fc.integer(), fc.constantFrom<unknown>({ deep: [1, { x: '}' }] }, [], {}, null, true)),
    { maxKeys: 3 },
  ),
});

const mannerArbitrary: fc.Arbitrary<Manner> = fc.record({
  ids: fc.constantFrom('each', 'first', 'constant', 'changing', 'empty', 'null', 'none'),
  indexes: fc.constantFrom('each', 'skipping', 'text', 'first', 'zero', 'none'),
  names: fc.constantFrom('first', 'each', 'parts', 'late'),
  args: fc.constantFrom('pieces', 'whole', 'object', 'so far'),
  before: fc.constantFrom('nothing', 'empty text', 'braces', 'empty object'),
  again: fc.boolean(),
  order: fc.constantFrom('one by one', 'interleaved', 'by position'),
  packed: fc.integer({ min: 1, max: 3 }),
});

const hasIndexes = ({ indexes }: Manner) => ['each', 'skipping', 'text'].includes(indexes);

/** False for mixtures that mean two lists of calls at once, so that no reader could distinguish them. */
function isDecidable(calls: readonly Called[], manner: Manner): boolean {
  const { ids, names, before, again, order } = manner;
  const marked = hasIndexes(manner) || ids === 'each';
  const begins_with_id = marked || ids === 'first';
  const placeholder = before === 'braces' || before === 'empty object';
  // A call without arguments is the same as a placeholder for arguments.
  if (!begins_with_id && calls.some(({ args }) => Object.keys(args).length === 0)) return false;
  if (order === 'interleaved' && (!marked || ids === 'constant' || names === 'late')) return false;
  if (order === 'interleaved' && !hasIndexes(manner) && before === 'nothing') return false;
  if (order === 'by position' && (hasIndexes(manner) || manner.indexes !== 'none' || !['none', 'null', 'empty'].includes(ids)))
    return false;
  if (order === 'by position' && (names !== 'first' || placeholder)) return false;
  // Every name in one list is a separate call.
  if (manner.packed > 1 && names !== 'first' && !marked && order === 'one by one') return false;
  // Without a name, an id or an index nothing begins a call.
  if (names === 'late' && !(hasIndexes(manner) || ids === 'each' || ids === 'first') && calls.length > 1) return false;
  if (ids === 'changing' && (names !== 'first' || placeholder) && !hasIndexes(manner)) return false;
  if (ids === 'changing' && names !== 'first' && (placeholder || names === 'parts' || manner.args === 'so far')) return false;
  // Two calls, the first without arguments, or one with a placeholder before its arguments.
  if (names === 'each' && placeholder && ['empty', 'null', 'none'].includes(ids)) return false;
  // The same call again, with the same marks, is a repetition.
  const has_equal = new Set(calls.map((call) => JSON.stringify(call))).size < calls.length;
  const has_equal_marks = ids === 'constant' || (manner.indexes === 'zero' && ['empty', 'null', 'none'].includes(ids));
  if (has_equal && has_equal_marks && !hasIndexes(manner)) return false;
  // What is sent again is known by its id or index.
  if (again && (ids === 'changing' || (ids === 'constant' && !hasIndexes(manner)))) return false;
  if (again && !hasIndexes(manner) && ids !== 'each' && ids !== 'first') return false;
  return true;
}

const cut = (text: string, sizes: readonly number[]): string[] => {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
};

function piecesOfArguments({ args }: Called, { args: manner }: Manner, sizes: readonly number[]): unknown[] {
  const text = JSON.stringify(args);
  if (manner === 'object') return [args];
  if (manner === 'whole') return [text];
  const pieces = cut(text, sizes);
  return manner === 'pieces' ? pieces : pieces.map((_, at) => pieces.slice(0, at + 1).join(''));
}

/** The pieces of one call as its endpoint sends them. */
function piecesOf(called: Called, place: number, manner: Manner, sizes: readonly number[]): CallPart[] {
  const { before, names } = manner;
  const opening = { nothing: [], 'empty text': [''], braces: ['{}'], 'empty object': [{}] }[before];
  const of_arguments: unknown[] = [...opening, ...piecesOfArguments(called, manner, sizes)];
  const parts = called.name.length > 2 ? [called.name.slice(0, 2), called.name.slice(2)] : [called.name];
  const named: { name?: string; arguments?: unknown }[] =
    names === 'parts'
      ? [...parts.map((name) => ({ name, arguments: '' })), ...of_arguments.map((args) => ({ arguments: args }))]
      : names === 'late'
        ? [{ arguments: '' }, { name: called.name }, ...of_arguments.map((args) => ({ arguments: args }))]
        : of_arguments.map((args, at) =>
            names === 'each' || at === 0 ? { name: called.name, arguments: args } : { arguments: args },
          );
  return named.map((it, at) => ({ ...marksOf(place, at, manner), type: 'function', function: it }));
}

function marksOf(place: number, at: number, { ids, indexes }: Manner): CallPart {
  const id = {
    each: `call-${place}`,
    first: at === 0 ? `call-${place}` : undefined,
    constant: 'call',
    changing: `call-${place}-${at}`,
    empty: '',
    null: null,
    none: undefined,
  }[ids];
  const index = {
    each: place,
    skipping: place * 3 + 7,
    text: String(place),
    first: at === 0 ? place : undefined,
    zero: 0,
    none: undefined,
  }[indexes];
  return { ...(id === undefined ? {} : { id }), ...(index === undefined ? {} : { index }) };
}

/** The chunks of a stream with these calls. */
function chunksOf(calls: readonly Called[], manner: Manner, sizes: readonly number[]): CallPart[][] {
  const lists = calls.map((called, place) => piecesOf(called, place, manner, sizes));
  const longest = Math.max(...lists.map(({ length }) => length));
  const rounds = Array.from({ length: longest }, (_, at) => lists.map((list) => list[at]));
  const repeated = calls.map(({ name, args }, place) => ({
    ...marksOf(place, 0, manner),
    function: { name, arguments: JSON.stringify(args, null, 1) },
  }));
  const again = manner.again ? repeated.map((call) => [call]) : [];
  if (manner.order === 'by position')
    return [...rounds.map((round) => round.map((piece) => piece ?? { function: { arguments: '' } })), ...again];
  const pieces = manner.order === 'interleaved' ? rounds.flat().filter((piece) => piece !== undefined) : lists.flat();
  const chunks: CallPart[][] = [];
  for (let at = 0; at < pieces.length; at += manner.packed) chunks.push(pieces.slice(at, at + manner.packed));
  return [...chunks, ...again];
}

function assemble(chunks: readonly (readonly CallPart[])[], known: readonly string[] = NAMES) {
  const assembler = assembleCalls(new Set(known));
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.all().map(({ name, arguments: args }) => ({ name, args: args === '' ? {} : JSON.parse(args) }));
}

it('returns the calls of every stream, in whatever manner they were sent', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
  const calls = fc.array(calledArbitrary, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(calls, mannerArbitrary, sizes, (list, manner, cuts) => {
      fc.pre(isDecidable(list, manner));
      expect(assemble(chunksOf(list, manner, cuts))).toEqual(list);
    }),
    { numRuns: 2_000 },
  );
});

const part = (name: string | undefined, args: unknown, marks: CallPart = {}): CallPart => ({
  ...marks,
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

describe('assembles', () => {
  const oslo = { name: 'look', args: { city: 'Oslo' } };
  const rome = { name: 'look', args: { city: 'Rome' } };
  const OSLO = '{"city":"Oslo"}';
  const ROME = '{"city":"Rome"}';

  it.each<[string, CallPart[][], Called[]]>([
    ['a call whose name and arguments are next to its id', [[{ id: 'a', name: 'look', arguments: OSLO }]], [oslo]],
    [
      'two calls of a tool without arguments',
      [[part('ping', '', { id: 'a' })], [part('ping', '', { id: 'b' })]],
      [
        { name: 'ping', args: {} },
        { name: 'ping', args: {} },
      ],
    ],
    ['two whole calls of one list that are the same', [[part('look', OSLO), part('look', OSLO)]], [oslo, oslo]],
    [
      'calls whose indexes come in another order',
      [[part('look', ROME, { index: 1 })], [part('look', OSLO, { index: 0 })]],
      [oslo, rome],
    ],
    [
      'a call with the index of the chunk',
      [[part('look', '{"city":', { index: 0, id: 'a' })], [part(undefined, '"Oslo"}', { index: 1, id: 'a' })]],
      [oslo],
    ],
    ['an id that comes late', [[part('look', '', { index: 0 })], [part(undefined, OSLO, { index: 0, id: 'a' })]], [oslo]],
    [
      'empty braces after the arguments',
      [[part('look', OSLO, { index: 0, id: 'a' })], [part(undefined, '{}', { index: 0 })]],
      [oslo],
    ],
    ['null before the arguments', [[part('look', 'null', { index: 0, id: 'a' })], [part(undefined, OSLO, { index: 0 })]], [oslo]],
    ['ids that are numbers', [[part('look', OSLO, { id: 1 })], [part('look', ROME, { id: 2 })]], [oslo, rome]],
    [
      'calls without arguments whose ids are numbers',
      [[part('ping', '', { id: 1 })], [part('ping', '', { id: 2 })]],
      [
        { name: 'ping', args: {} },
        { name: 'ping', args: {} },
      ],
    ],
    [
      'another index with every piece',
      [
        [part('look', '', { index: 0, id: 'a' })],
        [part(undefined, '{"city":', { index: 1 })],
        [part(undefined, '"Oslo"}', { index: 2 })],
      ],
      [oslo],
    ],
    [
      'two calls without marks, piece by piece in one list',
      [
        [part('look', '{"city":"Os'), part('look', '{"city":"Ro')],
        [part(undefined, 'lo"}'), part(undefined, 'me"}')],
      ],
      [oslo, rome],
    ],
    [
      'a call without arguments before another, without marks',
      [[part('ping', '{}')], [part('look', '')], [part(undefined, OSLO)]],
      [{ name: 'ping', args: {} }, oslo],
    ],
    [
      'a name that comes as far as it is known',
      [[part('loo', '', { index: 0, id: 'a' })], [part('look', '', { index: 0 })], [part(undefined, OSLO, { index: 0 })]],
      [oslo],
    ],
    [
      'a placeholder that comes twice in one piece',
      [[part('ping', '{} {}', { index: 0, id: 'a' })]],
      [{ name: 'ping', args: {} }],
    ],
    [
      'an id that comes with the second piece, at another index',
      [[part('look', '{"city":', { index: 0 })], [part(undefined, '"Oslo"}', { index: 1, id: 'a' })]],
      [oslo],
    ],
    [
      'the name of another tool within the arguments of a call, with its id',
      [[part('look', '{"city":', { id: 'a' })], [part('ping', '"Oslo"}', { id: 'a' })]],
      [{ ...oslo, name: 'lookping' }],
    ],
    ['a name that comes again at the end', [[part('look', OSLO)], [part('look', '')]], [oslo]],
  ])('%s', (_, chunks, expected) => expect(assemble(chunks)).toEqual(expected));

  it('names that no tool has, in parts and repeated', () => {
    const parts = [[part('no', '', { index: 0, id: 'a' })], [part('thing', '{}', { index: 0 })]];
    expect(assemble(parts, ['look'])).toEqual([{ name: 'nothing', args: {} }]);
    const repeated = [[part('other', '', { index: 0, id: 'a' })], [part('other', '{}', { index: 0, id: 'a' })]];
    expect(assemble(repeated, [])).toEqual([{ name: 'other', args: {} }]);
  });

  it('calls with equal marks that differ only in a long integer', () => {
    const assembler = assembleCalls();
    const texts = ['{"id":12345678901234567890}', '{"id":12345678901234567891}', '{ "id": 12345678901234567891 }'];
    for (const text of texts) assembler.add([part('look', text, { id: 'a' })]);
    expect(assembler.all().map(({ arguments: args }) => args)).toEqual(texts.slice(0, 2));
  });

  it('no more calls than a reply may have', () => {
    const assembler = assembleCalls();
    const calls = Array.from({ length: MOST_CALLS }, (_, index) => part('ping', '{}', { index, id: `${index}` }));
    for (const call of calls) assembler.add([call]);
    expect(() => assembler.add([part('ping', '{}', { index: MOST_CALLS, id: 'more' })])).toThrow(/calls/);
    expect(assembler.all()).toHaveLength(MOST_CALLS);
  });

  it('arguments that are not JSON as they came', () => {
    const calls = (chunks: CallPart[][], known: readonly string[] = []) => {
      const assembler = assembleCalls(new Set(known));
      for (const chunk of chunks) assembler.add(chunk);
      return assembler.all().map(({ arguments: args }) => args);
    };
    expect(calls([[part('look', '{"city":', { index: 0 })], [part(undefined, 'Oslo', { index: 0 })]])).toEqual(['{"city":Oslo']);
    expect(calls([[part('look', OSLO + ROME, { index: 0 })]])).toEqual([OSLO + ROME]);
    const cut = [[part('look', '{"city":"Oslo"', { id: 'a' })], [part('look', ROME, { id: 'b' })]];
    expect(calls(cut)).toEqual(['{"city":"Oslo"', ROME]);
    expect(calls([[part('look', '{"city":"Oslo"')], [part('ping', '{}')]], NAMES)).toEqual(['{"city":"Oslo"', '{}']);
    expect(calls([[part('look', '['.repeat(5_000), { index: 0 })]])).toEqual(['['.repeat(5_000)]);
  });
});
