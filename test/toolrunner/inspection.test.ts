import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startToolRunner, type ToolRunner } from '../../src/toolrunner/index.ts';

let runner: ToolRunner;
beforeAll(async () => {
  runner = await startToolRunner({ isolation: 'none' });
});
afterAll(() => runner.close());

/** The schema of the parameter `x` with this hint. */
async function hint(annotation: string, head = ''): Promise<unknown> {
  const source = `${head}\ndef tool(x: ${annotation}): pass\nclass Later: pass`;
  const { inferred_schema, error } = await runner.inspect('tool', source);
  expect(error).toBeNull();
  return (inferred_schema.properties as Record<string, unknown>).x;
}

describe('inferring a schema', () => {
  it('is an object with one property per parameter, and those without a default required', async () => {
    const found = await runner.inspect('add', 'async def add(a: int, b, *, c: str = "x", d: dict = None): return a');
    expect(found).toMatchObject({ valid: true, error: null });
    expect(found.inferred_schema).toEqual({
      type: 'object',
      properties: {
        a: { type: 'integer' },
        b: { type: 'string' },
        c: { type: 'string', default: 'x' },
        d: { type: 'object', default: null },
      },
      required: ['a', 'b'],
    });
    expect((await runner.inspect('none', 'def none(): pass')).inferred_schema).toEqual({
      type: 'object',
      properties: {},
      required: [],
    });
  });

  it.each([
    ['5', { type: 'integer', default: 5 }],
    ['-0.5', { type: 'number', default: -0.5 }],
    ['True', { type: 'boolean', default: true }],
    ['[1]', { type: 'array', default: [1] }],
    ['(1, 2)', { type: 'array', default: [1, 2] }],
    ['{}', { type: 'object', default: {} }],
    ['"x"', { type: 'string', default: 'x' }],
    ['None', { type: ['string', 'null'], default: null }],
    ['LIMIT', { type: 'integer', default: 9 }],
    ['(-1)', { type: 'integer', default: -1 }],
    ['"a" "b"', { type: 'string', default: 'ab' }],
  ])('takes the type of the default %s for a parameter without a hint', async (value, schema) => {
    const { inferred_schema } = await runner.inspect('tool', `LIMIT = 9\ndef tool(a, x=${value}): pass`);
    expect(inferred_schema).toMatchObject({ properties: { a: { type: 'string' }, x: schema }, required: ['a'] });
  });

  it.each(['print', '60 * 60', '[*range(3)]', '{1, 2}', 'b"x"', '...', 'LIMIT + 1', '1j', '"\\ud800"', '"\\0"'])(
    'accepts any value for a parameter without a hint if the default is %s, and reports it',
    async (value) => {
      const { inferred_schema, warnings } = await runner.inspect('tool', `LIMIT = 9\ndef tool(a, x=${value}): pass`);
      expect(inferred_schema).toEqual({ type: 'object', properties: { a: { type: 'string' }, x: {} }, required: ['a'] });
      expect(warnings).toEqual([expect.stringContaining('any value of x is accepted')]);
    },
  );

  it.each([
    ['a BOM', '\ufeffdef tool(x: int): pass'],
    ['CRLF', 'def tool(\r\n  x: int,\r\n):\r\n  return 1\r\n'],
    ['CR alone', 'def tool(x: int):\r  return 1\r'],
    ['tabs', 'def tool(x: int):\n\tif x:\n\t\treturn 1\n'],
    ['form feeds', '\fdef tool(x: int): \f\n  return 1\n\f'],
    ['a declared encoding', '# -*- coding: latin-1 -*-\ndef tool(x: int): return "é"'],
    ['a first line of Unix', '#!/usr/bin/env python3\n# é\ndef tool(x: int): pass'],
    ['hints that are not evaluated', 'from __future__ import annotations\ndef tool(x: int) -> Unknown: pass'],
    ['a match statement', 'def tool(x: int):\n  match x:\n    case {"a": [1, *r], **k} if (y := 1): return y\n    case _: pass'],
    ['nested f-strings', 'def tool(x: int):\n  return f"{f\'{x!r:>{10}}\'} {x=}"'],
    ['a decorator', 'import functools\n@functools.lru_cache(maxsize=None)\ndef tool(x: int): pass'],
    ['a position', 'def tool(x: int, /): pass'],
    ['a continued line', 'def tool(x: \\\n    int): pass'],
    ['an asynchronous generator', 'async def tool(x: int):\n  yield x'],
  ])('reads a file with %s', async (_, source) => {
    const { inferred_schema, error } = await runner.inspect('tool', source);
    expect([error, inferred_schema]).toEqual([null, { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] }]);
  });

  it.each([
    ['str', { type: 'string' }],
    ['int', { type: 'integer' }],
    ['float', { type: 'number' }],
    ['bool', { type: 'boolean' }],
    ['list', { type: 'array' }],
    ['dict', { type: 'object' }],
    ['list[int]', { type: 'array', items: { type: 'integer' } }],
    ['list[list[str]]', { type: 'array', items: { type: 'array', items: { type: 'string' } } }],
    ['dict[str, float]', { type: 'object', additionalProperties: { type: 'number' } }],
    ['"list[str]"', { type: 'array', items: { type: 'string' } }],
    ['int | None', { type: ['integer', 'null'] }],
    ['int | str', { type: ['integer', 'string'] }],
    ['list[int] | None', { type: ['array', 'null'], items: { type: 'integer' } }],
    ['tuple[int, str]', { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }], minItems: 2, maxItems: 2 }],
    ['tuple[int, ...]', { type: 'array', items: { type: 'integer' } }],
    ['set[str]', { type: 'array', items: { type: 'string' }, uniqueItems: true }],
    ['None', { type: 'null' }],
    ['tuple[()]', { type: 'array', maxItems: 0 }],
    ['"int | None"', { type: ['integer', 'null'] }],
    ['"Later" | None', { type: ['object', 'null'] }],
  ])('reads %s', async (annotation, schema) => {
    expect(await hint(annotation)).toEqual(schema);
  });

  it.each([
    ['Optional[float]', { type: ['number', 'null'] }],
    ['t.Optional[t.List[int]]', { type: ['array', 'null'], items: { type: 'integer' } }],
    ['Dict[str, int]', { type: 'object', additionalProperties: { type: 'integer' } }],
    [
      'Union[int, list[str], None]',
      { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'string' } }, { type: 'null' }] },
    ],
    ['Union[int, Any]', {}],
    ['Literal["a", "b"]', { type: 'string', enum: ['a', 'b'] }],
    ['Literal[1, "x", None]', { type: ['integer', 'string', 'null'], enum: [1, 'x', null] }],
    ['Optional[Literal["a"]]', { type: ['string', 'null'], enum: ['a', null] }],
    ['Annotated[int, "how many"]', { type: 'integer', description: 'how many' }],
    ['Annotated[int, Field(ge=1, le=9, description="d")]', { type: 'integer', minimum: 1, maximum: 9, description: 'd' }],
    ['Annotated[list[int], Field(min_length=1)]', { type: 'array', items: { type: 'integer' }, minItems: 1 }],
    ['Sequence[str]', { type: 'array', items: { type: 'string' } }],
    ['Any', {}],
    ['object', {}],
    ['t.Callable[[int], str]', {}],
    ['tuple[int, *tuple[str, ...]]', { type: 'array' }],
    ['tuple[int, t.Unpack[Alias]]', { type: 'array' }],
    ['t.Tuple[int, ...]', { type: 'array', items: { type: 'integer' } }],
    ['cs.abc.Set[int]', { type: 'array', items: { type: 'integer' }, uniqueItems: true }],
    ['t.AbstractSet[int]', { type: 'array', items: { type: 'integer' }, uniqueItems: true }],
    ['frozenset[int]', { type: 'array', items: { type: 'integer' }, uniqueItems: true }],
    ['Literal[()]', {}],
    ['list[()]', {}],
    ['Optional[Annotated[list, Field(min_length=1)]]', { type: ['array', 'null'], minItems: 1 }],
    ['Annotated[Optional[list], Field(max_length=3)]', { type: ['array', 'null'], maxItems: 3 }],
    ['Annotated[Positive, Field(le=5)]', { type: 'integer', exclusiveMinimum: 0, maximum: 5 }],
    ['dt.time', { type: 'string', format: 'time' }],
    ['dt.timedelta', { type: 'number', description: 'seconds' }],
    ['bytes', { type: 'string', contentEncoding: 'base64' }],
    ['datetime', { type: 'string', format: 'date-time' }],
    ['dt.date', { type: 'string', format: 'date' }],
    ['UUID', { type: 'string', format: 'uuid' }],
    ['Alias', { type: 'array', items: { type: 'integer' } }],
    ['UserId', { type: 'integer' }],
  ])('reads the imported %s', async (annotation, schema) => {
    const head = [
      'import typing as t, datetime as dt',
      'from typing import Optional, Dict, Union, Literal, Annotated, Any, NewType',
      'from collections.abc import Sequence',
      'from datetime import datetime',
      'from uuid import UUID',
      'from pydantic import Field',
      'Alias = list[int]',
      'Positive = Annotated[int, Field(gt=0)]',
      'import collections as cs',
      'UserId = NewType("UserId", int)',
    ];
    expect(await hint(annotation, head.join('\n'))).toEqual(schema);
  });

  it.each([
    ['a dataclass', '@dataclass\nclass X:\n "A point."\n a: int\n b: str = "x"\n c: list = field(default_factory=list)', ['a']],
    ['a TypedDict', 'class X(TypedDict):\n a: int\n b: NotRequired[str]\n c: NotRequired[list]', ['a']],
    ['a partial TypedDict', 'class X(TypedDict, total=False):\n a: Required[int]\n b: str\n c: list', ['a']],
    ['a NamedTuple', 'class X(NamedTuple):\n a: int\n b: str = "x"\n c: list = []', ['a']],
    [
      'a TypedDict whose wrappers are inside others',
      'class X(TypedDict):\n a: "Required[int]"\n b: Annotated[NotRequired[str], "d"]\n c: "NotRequired[list]"',
      ['a'],
    ],
    ['a called TypedDict', 'X = TypedDict("X", {"a": int, "b": NotRequired[str], "c": NotRequired[list]})', ['a']],
    ['a called partial TypedDict', 'X = TypedDict("X", {"a": Required[int], "b": str, "c": list}, total=False)', ['a']],
    [
      'a dataclass with what its callers do not give',
      '@dataclass\nclass X:\n a: InitVar[int]\n k: ClassVar = 1\n l: "ClassVar[int]" = 1\n i: int = field(init=False)\n _: KW_ONLY\n b: str = "x"\n c: list = None',
      ['a'],
    ],
    [
      'a pydantic model with aliases and private fields',
      'class X(BaseModel):\n n: int = Field(alias="a")\n _p: int = 1\n m: str = Field("x", validation_alias="b")\n c: list = []',
      ['a'],
    ],
    [
      'a generic model',
      'T = TypeVar("T")\nclass X(BaseModel, Generic[T]):\n a: int\n b: str = "x"\n c: list[T] = []',
      ['a'],
      'X[int]',
    ],
    [
      'a pydantic model',
      'class B(BaseModel):\n a: int = Field(..., ge=0)\nclass X(B):\n b: str = Field("x")\n c: list = Field(default_factory=list)',
      ['a'],
    ],
  ])('reads %s of the same file', async (_, definition, required, annotation = 'X') => {
    const head = 'from typing import *\nfrom dataclasses import dataclass, field, InitVar, KW_ONLY\nfrom pydantic import *\n';
    const schema = (await hint(annotation as string, `${head}${definition}`)) as {
      properties: Record<string, { type: string }>;
      required: string[];
    };
    expect(Object.entries(schema.properties).map(([name, it]) => `${name}:${it.type}`)).toEqual([
      'a:integer',
      'b:string',
      'c:array',
    ]);
    expect(schema.required).toEqual(required);
  });

  it.each([
    ['text', 'class X(str): pass'],
    ['a list of pydantic', 'class X(RootModel[list[int]]): pass'],
    ['a class of another file', 'from other import Base\nclass X(Base): pass'],
  ])('accepts any value for a class that stands for %s', async (_, definition) => {
    expect(await hint('X', definition)).toEqual({});
  });

  it('reads enums, self-reference and lists of classes', async () => {
    expect(await hint('Color', 'class Color(Enum):\n RED = "r"\n BLUE = "b"')).toEqual({ type: 'string', enum: ['r', 'b'] });
    expect(await hint('N', 'from enum import StrEnum, auto\nclass N(StrEnum):\n ONE = auto()')).toEqual({
      type: 'string',
      enum: ['one'],
    });
    expect(await hint('list[T]', '@dataclass\nclass T:\n kids: list["T"]')).toEqual({
      type: 'array',
      items: { type: 'object', properties: { kids: { type: 'array', items: { type: 'object' } } }, required: ['kids'] },
    });
  });

  it('accepts any value for a type hint that it does not know, and reports it', async () => {
    const found = await runner.inspect('tool', 'import pandas as pd\ndef tool(x: pd.DataFrame): pass');
    expect(found.inferred_schema.properties).toEqual({ x: {} });
    expect(found.warnings).toEqual([expect.stringContaining("line 2: no schema for the hint 'pd.DataFrame'")]);
    expect(found.imports).toEqual(['pandas']);
  });
});

describe('reading docstrings', () => {
  it.each([
    [
      'Google',
      'Adds.\n\n    Longer.\n\n    Args:\n        a (int): the first\n            of two\n        b: the second\n\n    Returns:\n        a sum\n    ',
    ],
    [
      'NumPy',
      'Adds.\n\n    Longer.\n\n    Parameters\n    ----------\n    a : int\n        the first\n        of two\n    b\n        the second\n\n    Returns\n    -------\n    int\n    ',
    ],
    [
      'Sphinx',
      'Adds.\n\n    Longer.\n\n    :param int a: the first\n        of two\n    :param b: the second\n    :type b: int\n    :returns: a sum\n    ',
    ],
    [
      'Google in a list',
      'Adds.\n\n    Longer.\n\n    Args:\n        - `a` (int): the first\n          of two\n        - **b**: the second\n    ',
    ],
    [
      'Epytext',
      'Adds.\n\n    Longer.\n\n    @param a: the first\n        of two\n    @type a: int\n    @param b: the second\n    @return: a sum\n    ',
    ],
  ])('knows the %s style', async (_, text) => {
    const found = await runner.inspect('add', `def add(a: int, b: int):\n    """${text}"""`);
    expect(found.description).toBe('Adds.\n\nLonger.');
    expect(found.inferred_schema.properties).toEqual({
      a: { type: 'integer', description: 'the first of two' },
      b: { type: 'integer', description: 'the second' },
    });
  });

  it('replaces characters that a database cannot store', async () => {
    expect((await runner.inspect('f', 'def f():\n  "a\\0b\\ud800c"')).description).toBe('a\ufffdb?c');
  });

  it('takes the text before a Returns section when no parameter is described', async () => {
    expect((await runner.inspect('f', 'def f():\n  """Says hi.\n\n  Returns:\n    hi\n  """')).description).toBe('Says hi.');
  });
});

describe('module constants', () => {
  it('are read when they are literals', async () => {
    const source = 'ENV = {"API_KEY": "the key"}\nEFFECT: str = "read"\nNETWORK = True\ndef tool(): pass';
    expect(await runner.inspect('tool', source)).toMatchObject({
      valid: true,
      env: { API_KEY: 'the key' },
      effect: 'read',
      network: true,
    });
    expect(await runner.inspect('tool', 'def tool(): pass')).toMatchObject({ env: {}, effect: null, network: null });
  });

  it.each([
    ['ENV = dict(A="x")', 'ENV must be a literal, because the file is read and not executed (line 1, column 7)'],
    ['ENV = ["A"]', 'ENV must be a dict such as {"API_KEY": "what it is for"} (line 1, column 7)'],
    ['ENV = {"A B": ""}', "ENV: 'A B' is not a name for an environment variable (line 1, column 7)"],
    ['EFFECT = "none"', "EFFECT must be one of 'read', 'idempotent', 'write' (line 1, column 10)"],
    ['EFFECT = ["read"]', "EFFECT must be one of 'read', 'idempotent', 'write' (line 1, column 10)"],
    ['NETWORK = 1', 'NETWORK must be True or False (line 1, column 11)'],
  ])('refuses %s', async (line, error) => {
    expect(await runner.inspect('tool', `${line}\ndef tool(): pass`)).toMatchObject({ valid: false, error });
  });
});

describe('a file that is not a tool', () => {
  it.each([
    ['a syntax error', 'def tool(:\n  pass', 'syntax error: invalid syntax (line 1, column 10)'],
    [
      'what only the compiler sees',
      'def tool():\n  pass\nreturn 1',
      "syntax error: 'return' outside function (line 3, column 1)",
    ],
    ['no function', 'tool = lambda: 1', 'the source must define exactly one function, found none (line 1, column 1)'],
    [
      'two functions',
      'def tool(): pass\ndef other(): pass',
      'the source must define exactly one function, found 2: tool, other (line 2, column 1)',
    ],
    [
      'a second one under a condition',
      'def tool(): pass\nif True:\n  def other(): pass',
      'the source must define exactly one function, found 2: tool, other (line 3, column 3)',
    ],
    ['another name', 'def other(): pass', "the function is named 'other', but the tool is named 'tool' (line 1, column 1)"],
    ['*args', 'def tool(a, *rest): pass', '*rest has no schema: name every parameter (line 1, column 14)'],
    ['**kwargs', 'def tool(a, **rest): pass', '**rest has no schema: name every parameter (line 1, column 15)'],
    ['nothing', '', 'the source must define exactly one function, found none (line 1, column 1)'],
  ])('is refused with line and column for %s', async (_, source, error) => {
    expect(await runner.inspect('tool', source)).toMatchObject({ valid: false, error, inferred_schema: { type: 'object' } });
  });

  it('may hold classes, methods, inner functions and lambdas in addition to its one function', async () => {
    const source = 'class A:\n  def method(self): pass\nf = lambda: 1\ndef tool():\n  def inner(): pass\n  return inner';
    expect(await runner.inspect('tool', source)).toMatchObject({ valid: true });
  });

  it.each([
    ['deep nesting', `def tool(): return ${'('.repeat(5_000)}${')'.repeat(5_000)}`],
    ['a very long expression', `def tool(): return ${'1+'.repeat(60_000)}1`],
    ['deep unary operators', `def tool(): return ${'-'.repeat(150_000)}1`],
    ['an endless number', `def tool(): return ${'9'.repeat(190_000)}`],
    ['NUL bytes', 'def tool(): return "\0"'],
    ['a lone surrogate', 'def tool(): return "\ud800"'],
    ['more than 200 KB', `def tool(): pass\n${'#'.repeat(205_000)}`],
    ['deep annotations', `def tool(x: ${'list['.repeat(90)}int${']'.repeat(90)} | ${'"'}): pass`],
  ])('does no harm with %s', async (_, source) => {
    const found = await runner.inspect('tool', source);
    expect(found.valid ? found.error : found.error?.length).toSatisfy((it) => it === null || Number(it) > 10);
    expect(await runner.inspect('tool', 'def tool(): pass')).toMatchObject({ valid: true });
  });

  it('is never executed', async () => {
    expect(await runner.inspect('tool', 'import os\nos._exit(1)\ndef tool(a=os._exit(2)): pass')).toMatchObject({ valid: true });
  });

  it('answers many questions at once, each its own', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `tool_${n}`);
    const found = await Promise.all(names.map((name) => runner.inspect(name, `def ${name}():\n  "${name}"`)));
    expect(found.map((it) => it.description)).toEqual(names);
  });
});
