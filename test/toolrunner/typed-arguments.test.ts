import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, openBench, TIERS } from './support.ts';

const HEAD = `
import datetime as dt, enum, typing as t, uuid, decimal, pathlib
from dataclasses import dataclass
class Color(enum.Enum):
    RED = "r"
    BLUE = "b"
@dataclass
class Point:
    x: int
    at: t.Optional[dt.date] = None
class Pair(t.NamedTuple):
    a: int
    b: Color
class Box(t.TypedDict):
    size: int
class Sizes(t.TypedDict, total=False):
    width: int
class Due(t.TypedDict):
    on: dt.date
Id = t.NewType("Id", int)
`;

describe('arguments', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench({ ...(TIERS.namespaces ?? TIERS.process), timeout_ms: 10_000 });
  });
  afterAll(() => bench.runner.close());

  it.each([
    ['dt.datetime', '2024-05-06T07:08:09Z', 'datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.timezone.utc)'],
    ['dt.date', '2024-05-06', 'datetime.date(2024, 5, 6)'],
    ['t.Optional[dt.date]', null, 'None'],
    ['dt.timedelta', 90, 'datetime.timedelta(seconds=90)'],
    ['decimal.Decimal', '1.10', "Decimal('1.10')"],
    ['pathlib.Path', 'a/b', "PosixPath('a/b')"],
    ['Color', 'r', "<Color.RED: 'r'>"],
    ['Color', 'BLUE', "<Color.BLUE: 'b'>"],
    ['Point', { x: 1, at: '2024-05-06' }, 'Point(x=1, at=datetime.date(2024, 5, 6))'],
    ['t.List[Point]', [{ x: 1 }], '[Point(x=1, at=None)]'],
    ['t.Dict[str, Color]', { k: 'b' }, "{'k': <Color.BLUE: 'b'>}"],
    ['Pair', { a: 1, b: 'r' }, "Pair(a=1, b=<Color.RED: 'r'>)"],
    ['t.Set[int]', [1, 1], '{1}'],
    ['t.List', ['a', 1], "['a', 1]"],
    ['t.Sequence', ['a'], "['a']"],
    ['t.Optional[t.Iterable]', ['a'], "['a']"],
    ['t.Set', ['a', 'a'], "{'a'}"],
    ['t.AbstractSet', ['a', 'a'], "frozenset({'a'})"],
    ['t.Mapping', { a: 1 }, "{'a': 1}"],
    ['t.Tuple', ['a', 1], "('a', 1)"],
    ['t.Deque', ['a'], "['a']"],
    ['t.Tuple[int, Color]', [1, 'b'], "(1, <Color.BLUE: 'b'>)"],
    ['t.Union[int, Point]', { x: 2 }, 'Point(x=2, at=None)'],
    ['t.Union[Box, Point]', { x: 2 }, 'Point(x=2, at=None)'],
    ['t.Union[Box, Point]', { size: 1 }, "{'size': 1}"],
    ['t.Union[Sizes, Point]', { x: 2 }, 'Point(x=2, at=None)'],
    ['t.Union[Box, Due]', { on: '2024-05-06' }, "{'on': datetime.date(2024, 5, 6)}"],
    ['t.Optional[Due]', { on: '2024-05-06', by: 1 }, "{'on': datetime.date(2024, 5, 6), 'by': 1}"],
    ['t.Union[str, int]', 3, '3'],
    ['"Point"', { x: 5 }, 'Point(x=5, at=None)'],
    ['Box', { size: 1 }, "{'size': 1}"],
    ['Id', 4, '4'],
    ['t.Literal["a"]', 'a', "'a'"],
    ['t.Any', { a: 1 }, "{'a': 1}"],
    ['int', 'not converted', "'not converted'"],
    ['float', 1, '1'],
  ])('declared as %s arrive as that', async (hint, x, shown) => {
    expect(await bench.value(`${HEAD}\ndef tool(x: ${hint}): return repr(x)`, { arguments: { x } })).toBe(shown);
  });

  it('that do not fit are named', async () => {
    expect((await bench.call(`${HEAD}\ndef tool(x: dt.date): pass`, { arguments: { x: 'soon' } })).error).toMatch(
      /^argument x: .*'soon'/,
    );
    expect((await bench.call(`${HEAD}\ndef tool(x: Color): pass`, { arguments: { x: 'green' } })).error).toMatch(
      /^argument x: 'green' is not a valid Color/,
    );
    expect((await bench.call(`${HEAD}\ndef tool(x: Point): pass`, { arguments: { x: { y: 1 } } })).error).toMatch(
      /^argument x: .*unexpected keyword argument 'y'/,
    );
  });

  it('with a hint that cannot be resolved arrive as they are', async () => {
    expect(await bench.value('def tool(x: "Missing"): return x', { arguments: { x: { a: 1 } } })).toEqual({ a: 1 });
  });

  it('declared as a pydantic model arrive as one, where pydantic is installed', async () => {
    const source =
      'try:\n    from pydantic import BaseModel\nexcept ImportError:\n    BaseModel = None\nif BaseModel:\n    class M(BaseModel):\n        n: int\nelse:\n    M = dict\ndef tool(x: M): return getattr(x, "n", None) or x["n"]';
    expect(await bench.value(source, { arguments: { x: { n: 3 } } })).toBe(3);
  });
});
