import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PACKAGE = fileURLToPath(new URL('../../src/toolrunner/python', import.meta.url));
const pythons = [
  'python3',
  ...['/usr/bin/python3', '/usr/local/bin/python3'].filter((it) => existsSync(it)),
  ...globSync(join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions/3.{9,[1-9][0-9]}.*/bin/python3')),
];

const AUDIT = `
import sys
sys.path.insert(0, sys.argv[1])
from perdura_tools.inspection import serve
serve.rehearse()
loaded = []
def watch(event, arguments):
    if event == "import" and arguments[0] not in sys.modules:
        loaded.append(arguments[0])
sys.addaudithook(watch)

import ast, json, os
SOURCES = [
    'def tool(größe: int): "Größe."',
    'def tool(): return "\\\\N{EN DASH}", "\\\\N{KEYCAP DIGIT ONE}", "\\\\N{nothing}"',
    'def tool(x: "a b", y: "Literal[1", z: foo.Bar[1:2, *a] = lambda: 1): pass',
    'def tool(x: Literal[b"1", 1e999, 9**9]): assert (1, 2)',
    'class E(Enum):\\n  A = auto()\\n  B = A * 2\\ndef tool(x: E = E.A): pass',
    'def tool(:', 'def tool():\\n\\tif 1:\\n        pass', '\\\\ufeff# -*- coding: latin-1 -*-\\ndef tool(): pass',
    'def tool(): return 1if 2else 3, 0x1for, "\\\\d"', 'def tool(): return ' + '9' * 5000, 'def tool(): return "\\\\ud800"',
    'def tool(): return f"{x!r:>{w}} {y=}", t"{x}"', 'from __future__ import nothing', 'def tool(): return "\\\\0"',
    'def tool(): return ' + '(' * 300 + ')' * 300,
    'type A[T: int] = list[T]\\ndef tool[T](x: A[T]):\\n  match x:\\n    case {"a": 1, **r}: pass',
]
# In addition to the samples, what others wrote: files of Python's own library.
folder = os.path.dirname(ast.__file__)
for name in sorted(os.listdir(folder))[:: int(sys.argv[2])]:
    if name.endswith(".py"):
        SOURCES.append(open(os.path.join(folder, name), encoding="utf-8").read())
loaded.clear()
for source in SOURCES:
    json.loads(serve._answer({"id": 1, "name": "tool", "source": source}))
    for line in source.splitlines():
        if line.startswith("def "):
            serve._answer({"id": 1, "name": line[4:].split("(")[0], "source": line + " pass"})
print(json.dumps({"sources": len(SOURCES), "loaded": loaded}))
`;

it.each(pythons)('nothing is left to load for %s once its inspector is locked down', async (python) => {
  const { stdout } = await promisify(execFile)(python, [
    '-I',
    '-X',
    'utf8',
    '-B',
    '-c',
    AUDIT,
    PACKAGE,
    python === 'python3' ? '3' : '12',
  ]);
  const { sources, loaded } = JSON.parse(stdout) as { sources: number; loaded: string[] };
  expect(loaded).toEqual([]);
  expect(sources).toBeGreaterThan(20);
});
