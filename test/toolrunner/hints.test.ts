import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startToolRunner, type ToolRunner } from '../../src/toolrunner/index.ts';
import { type Bench, openBench } from './support.ts';

let runner: ToolRunner;
beforeAll(async () => {
  runner = await startToolRunner({ isolation: 'none' });
});
afterAll(() => runner.close());

const HEAD = 'import enum\nfrom enum import *\nfrom typing import *\nfrom pydantic import Field\n';

async function inspect(source: string) {
  const found = await runner.inspect('tool', HEAD + source);
  expect(found.error).toBeNull();
  const schema = found.inferred_schema as { properties: Record<string, unknown>; required: string[] };
  return { x: schema.properties.x, required: schema.required, warnings: found.warnings ?? [] };
}

describe('a name that is not ASCII', () => {
  it.each([
    ['a parameter', 'def tool(größe: int): pass', 'größe'],
    ['a normalised parameter', 'def tool(ﬁnd: int): pass', 'find'],
    ['a variable', 'def tool(x):\n  π = 3\n  return π', 'x'],
    ['a named character', 'def tool(x):\n  return "\\N{EN DASH}\\N{GREEK SMALL LETTER PI}"', 'x'],
    ['a named sequence in an f-string', 'def tool(x):\n  return f"\\N{EN DASH}{x}"', 'x'],
    ['a class', 'class Größe(Enum):\n  L = 1\ndef tool(größe: Größe): pass', 'größe'],
  ])('is read as %s', async (_, source, parameter) => {
    const { inferred_schema, error } = await runner.inspect('tool', HEAD + source);
    expect({ error, names: Object.keys(inferred_schema.properties as object) }).toEqual({ error: null, names: [parameter] });
  });

  it('that does not exist is a syntax error with its reason', async () => {
    const { error } = await runner.inspect('tool', 'def tool():\n  return "\\N{NO SUCH NAME}"');
    expect(error).toMatch(/unknown Unicode character name/);
  });
});

describe('a Literal', () => {
  it.each([
    ['of an alias', 'A = Literal["a", "b"]\ndef tool(x: Literal[A, "c"]): pass', ['a', 'b', 'c']],
    ['of a Literal', 'def tool(x: Literal[Literal["a"], Literal[1, None]]): pass', ['a', 1, null]],
    ['of a Literal in quotes', "def tool(x: \"Literal['a', Literal['b']]\"): pass", ['a', 'b']],
    ['of a constant', 'A = "a"\nB: Final = "b"\ndef tool(x: Literal[A, B]): pass', ['a', 'b']],
    ['of members', 'class C(Enum):\n  A = "a"\n  B = "b"\ndef tool(x: Literal[C.B]): pass', ['b']],
    ['of a repeated value', 'def tool(x: Literal["a", "a", 1, True]): pass', ['a', 1, true]],
    ['of negative numbers', 'def tool(x: Literal[-1, +2]): pass', [-1, 2]],
  ])('%s lists every value', async (_, source, values) => {
    expect(await inspect(source)).toMatchObject({ x: { enum: values }, warnings: [] });
  });

  it.each([
    ['a computed constant', 'A = len("abc")\ndef tool(x: Literal[A, "c"]): pass'],
    ['an imported constant', 'from os import sep\ndef tool(x: Literal[sep, "c"]): pass'],
    ['an alias of itself', 'A = Literal[A]\ndef tool(x: Literal[A]): pass'],
    ['bytes', 'def tool(x: Literal[b"x", "c"]): pass'],
    ['a member that is computed', 'class C(Enum):\n  A = len("a")\ndef tool(x: Literal[C.A]): pass'],
    ['an unknown member', 'class C(Enum):\n  A = 1\ndef tool(x: Literal[C.B]): pass'],
    ['an integer that JSON readers round', 'def tool(x: Literal[9007199254740993]): pass'],
  ])('accepts any value with %s, and reports it', async (_, source) => {
    const { x, warnings } = await inspect(source);
    expect(x).toEqual({});
    expect(warnings).toEqual([expect.stringContaining('can be read, so any value is accepted')]);
  });
});

describe('an Enum', () => {
  it.each([
    ['an alias', 'class C(Enum):\n  A = "a"\n  B = A\n  C: str = "c"', ['a', 'c']],
    ['a chain', 'class C(Enum):\n  A = B = 1', [1]],
    ['a constant of the file', 'LOW = 5\nclass C(IntEnum):\n  A = LOW\n  B = auto()', [5, 6]],
    ['a base of the file', 'class Base(str, Enum):\n  def label(self): pass\nclass C(Base):\n  A = "a"', ['a']],
    ['private names', 'class C(Enum):\n  _ignore_ = ["x"]\n  __secret = 2\n  A = 1', [1]],
  ])('with %s lists its values', async (_, definition, values) => {
    expect(await inspect(`${definition}\ndef tool(x: C): pass`)).toMatchObject({ x: { enum: values }, warnings: [] });
  });

  it.each([
    ['tuples', 'class C(Enum):\n  A = (1, 2)\n  B = (3, 4)', {}],
    ['tuples and __init__', 'class C(Enum):\n  A = (1, 2)\n  B = 3\n  def __init__(self, *a): pass', {}],
    ['__new__', 'class C(str, Enum):\n  A = "a"\n  B = "b"\n  def __new__(cls, v): pass', { type: 'string' }],
    ['a computed value', 'class C(Enum):\n  A = 1\n  B = 2 * A', {}],
    ['a computed number', 'class C(IntEnum):\n  A = 1\n  B = 1 << 3', { type: 'integer' }],
    ['a called value', 'class C(StrEnum):\n  A = "a"\n  B = str(1)', { type: 'string' }],
    ['unpacked values', 'class C(Enum):\n  A, B = range(2)', {}],
    ['a value per platform', 'class C(Enum):\n  A = 1\n  if True:\n    B = 2', {}],
    ['its own auto()', 'class C(Enum):\n  def _generate_next_value_(*a): return "x"\n  A = auto()\n  B = auto()', {}],
    ['a float that JSON lacks', 'class C(Enum):\n  A = 1.5\n  B = 1e999', {}],
    ['another type mixed in', 'from decimal import Decimal\nclass C(Decimal, Enum):\n  A = "1"\n  B = "2"', {}],
    ['text mixed into numbers', 'class C(str, Enum):\n  A = 1\n  B = 2', { type: 'string' }],
  ])('with %s accepts any value and names its members', async (_, definition, type) => {
    const { x, warnings } = await inspect(`${definition}\ndef tool(x: C): pass`);
    expect(x).toEqual({ ...type, description: 'one of A, B' });
    expect(warnings).toHaveLength(1);
  });

  it('of flags accepts their combinations', async () => {
    const { x } = await inspect('class C(IntFlag):\n  A = 1\n  B = 2\ndef tool(x: C): pass');
    expect(x).toEqual({ type: 'integer', description: 'flags of A, B' });
  });
});

describe('a Field', () => {
  it.each([
    ['a default', 'def tool(x: int = Field(3)): pass', { type: 'integer', default: 3 }, []],
    [
      'a default by name',
      'N = 4\ndef tool(x: int = Field(default=N, ge=1)): pass',
      { type: 'integer', minimum: 1, default: 4 },
      [],
    ],
    [
      'a factory',
      'def tool(x: list[int] = Field(default_factory=list)): pass',
      { type: 'array', items: { type: 'integer' } },
      [],
    ],
    ['no default', 'def tool(x: int = Field(..., description="n")): pass', { type: 'integer', description: 'n' }, ['x']],
    ['a default in Annotated', 'def tool(x: Annotated[int, Field(default=3)]): pass', { type: 'integer', default: 3 }, []],
    ['a default in an alias', 'N = Annotated[int, Field(3)]\ndef tool(x: N): pass', { type: 'integer', default: 3 }, []],
    ['a factory in Annotated', 'def tool(x: Annotated[list, Field(default_factory=list)]): pass', { type: 'array' }, []],
    ['a default in quotes', 'def tool(x: "Annotated[int, Field(3)]"): pass', { type: 'integer', default: 3 }, []],
    ['another default after it', 'def tool(x: Annotated[int, Field(3)] = 5): pass', { type: 'integer', default: 5 }, []],
    ['a computed default after it', 'def tool(x: Annotated[int, Field(3)] = len("")): pass', { type: 'integer' }, []],
    ['a rule that is not a Field', 'def tool(x: Annotated[int, Ge(3)]): pass', { type: 'integer' }, ['x']],
    ['an infinite default', 'def tool(x: float = Field(1e999, le=1e999)): pass', { type: 'number' }, []],
  ])('with %s is read', async (_, source, schema, required) => {
    expect(await inspect(source)).toMatchObject({ x: schema, required });
    expect((await inspect(source)).x).toEqual(schema);
  });
});

describe('a call', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench({ isolation: 'none' });
  });
  afterAll(() => bench.runner.close());
  /** Works like pydantic's, which is not installed for every interpreter. */
  const FIELD = [
    'import types, sys, enum, datetime, dataclasses, collections.abc',
    'from typing import *',
    'class FieldInfo:',
    '  def __init__(self, default=..., default_factory=None):',
    '    self.default, self.default_factory = default, default_factory',
    'FieldInfo.__module__ = "pydantic.fields"',
    'Field = FieldInfo',
    'class Day(TypedDict):\n  day: datetime.date',
    '@dataclasses.dataclass\nclass Born:\n  day: dataclasses.InitVar[datetime.date]\n  year: int = 0\n  def __post_init__(self, day): self.year = day.year',
    'T = TypeVar("T")\n@dataclasses.dataclass\nclass Box(Generic[T]):\n  item: T',
    'class Root:\n  __pydantic_root_model__ = True\n  def __init__(self, root): self.root = root\n  model_validate = classmethod(lambda cls, v: cls(v))',
    'class Planet(enum.Enum):\n  EARTH = (5, 6)\n  MARS = (7, 8)\n  NAMED = "n"',
  ].join('\n');

  it.each([
    ['the default of a Field', 'x: int = Field(3)', 'x + 1', {}, 4],
    ['the factory of a Field', 'x: list = Field(default_factory=list)', 'x', {}, []],
    ['the default of a keyword', '*, x: int = Field(3)', 'x + 1', {}, 4],
    ['the default of what stands by position', 'a: int, x: int = Field(3), /', 'a + x', { a: 1 }, 4],
    ['the default in Annotated', 'x: Annotated[int, Field(default=3)]', 'x + 1', {}, 4],
    ['the factory in Annotated', 'x: "Annotated[list, Field(default_factory=list)]"', 'x', {}, []],
    ['the given value', 'x: int = Field(3)', 'x', { x: 9 }, 9],
    ['None of a Field', 'x: Optional[int] = Field(None)', 'x is None', {}, true],
    ['a member by its tuple', 'x: Planet', 'x.name', { x: [7, 8] }, 'MARS'],
    ['a member by its name', 'x: Planet', 'x.name', { x: 'EARTH' }, 'EARTH'],
    ['a member of a Literal', 'x: Literal[Planet.NAMED]', 'x.name', { x: 'n' }, 'NAMED'],
    ['a date next to a hint that does not exist', 'x: datetime.date, y: "Nothing" = None', 'x.year', { x: '2024-05-06' }, 2024],
    ['all of a tuple without a fixed length', 'x: tuple[int, *tuple[str, ...]]', 'x', { x: [1, 'a', 'b'] }, [1, 'a', 'b']],
    ['a date in a TypedDict', 'x: Day', 'x["day"].year', { x: { day: '2024-05-06' } }, 2024],
    ['a date in an InitVar', 'x: Born', 'x.year', { x: { day: '2024-05-06' } }, 2024],
    ['a dataclass after a TypedDict', 'x: Union[Day, Box[int]]', 'x.item', { x: { item: 5 } }, 5],
    ['keys that are numbers', 'x: dict[int, str]', 'x[1]', { x: { 1: 'a' } }, 'a'],
    ['keys that are numbers by a NewType', 'x: dict[NewType("Id", int), str]', 'x[1]', { x: { 1: 'a' } }, 'a'],
    ['keys that are numbers in Annotated', 'x: dict[Annotated[int, "n"], str]', 'x[1]', { x: { 1: 'a' } }, 'a'],
    ['a generic dataclass', 'x: Box[int]', 'x.item', { x: { item: 5 } }, 5],
    ['a model of a list', 'x: Root', 'x.root', { x: [1] }, [1]],
    ['a set by its abstract name', 'x: collections.abc.Set[int]', 'isinstance(x, frozenset)', { x: [1] }, true],
    ['a set in Annotated', 'x: Annotated[set, "unique"]', 'len(x)', { x: [1, 1] }, 1],
  ])('gets %s', async (_, parameters, result, args, value) => {
    expect(await bench.value(`${FIELD}\ndef tool(${parameters}): return ${result}`, { arguments: args })).toEqual(value);
  });

  it('without the value of a required Field is refused by name', async () => {
    const { error } = await bench.call(`${FIELD}\ndef tool(x: int = Field(...)): return x`, { arguments: {} });
    expect(error).toBe('argument x is missing');
  });
});
