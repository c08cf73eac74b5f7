import { cpSync, existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mergeScriptCovs, type ScriptCov } from '@bcoe/v8-coverage';
import { convert } from 'ast-v8-to-istanbul';
import { parseAst } from 'vite';
import { bundleFolder } from './folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUNDLE = join(ROOT, 'dist');

export const keepBundle = (folder: string): void => cpSync(BUNDLE, bundleFolder(folder), { recursive: true });

/** One of several ways that code can continue: a side of a condition, a case, a default, an operand. */
export interface Branch {
  file: string;
  /** From 1. */
  line: number;
  /** From 0. */
  column: number;
  kind: string;
  /** Its place among the branches of its construct, from 0. */
  path: number;
  /** The line it stands in. */
  text: string;
  times: number;
}

export interface Coverage {
  branches: Branch[];
  /** Source files that nothing has loaded. */
  unloaded: string[];
}

/**
 * The source files that have code which decides something. The code of workflows is left out: it runs in a thread of the engine's
 * SDK, which ends without writing what it executed.
 */
export const listSources = (): string[] =>
  globSync('src/**/*.{ts,tsx}', {
    cwd: ROOT,
    exclude: ['src/generated/**', 'src/temporal/workflows/**', 'src/**/generated/**', '**/*.d.ts', '**/*.config.ts'],
  }).sort();

/** Merges what all processes and pages have written to a folder. */
export async function readCoverage(folder: string): Promise<Coverage> {
  const times = new Map<string, Branch>();
  const loaded = new Set<string>();
  for (const [url, scripts] of readScripts(folder)) {
    const script = mergeScriptCovs(scripts);
    const { files, branches } = script ? await readScript(url, script, folder) : { files: [], branches: [] };
    for (const file of files) loaded.add(file);
    for (const branch of branches) {
      const key = `${branch.file}:${branch.line}:${branch.column}:${branch.kind}:${branch.path}`;
      const known = times.get(key);
      times.set(key, known ? { ...known, times: known.times + branch.times } : branch);
    }
  }
  const branches = [...times.values()];
  return { branches, unloaded: listSources().filter((file) => !loaded.has(file) && hasCode(file)) };
}

/** What was measured of each source file, and of each file of the dashboard's bundle, by its URL. */
function readScripts(folder: string): Map<URL, ScriptCov[]> {
  const scripts = new Map<string, ScriptCov[]>();
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.json')) continue;
    const { result } = JSON.parse(readFileSync(join(folder, entry), 'utf8')) as { result: ScriptCov[] };
    for (const script of result) {
      const file = findFile(script.url, folder);
      if (file) scripts.set(file, [...(scripts.get(file) ?? []), script]);
    }
  }
  return new Map([...scripts].map(([file, some]) => [new URL(`file://${file}`), some]));
}

function findFile(url: string, folder: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, pathname } = new URL(url);
  const bundled = protocol === 'http:' ? pathname : /\/screens-[^/]+\/screens\.js$/.exec(pathname)?.[0];
  if (bundled && existsSync(`${join(bundleFolder(folder), bundled)}.map`)) return join(BUNDLE, bundled);
  const file = protocol === 'file:' ? fileURLToPath(url) : '';
  return file.startsWith(join(ROOT, 'src/')) && !file.includes('/generated/') ? file : null;
}

/** False if nothing is left of a file when its types are gone. */
function hasCode(file: string): boolean {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return file.endsWith('.tsx') || parseAst(stripTypeScriptTypes(source)).body.length > 0;
}

/** The source files of a script, with or without branches, and their branches. */
async function readScript(url: URL, script: ScriptCov, folder: string): Promise<{ files: string[]; branches: Branch[] }> {
  const path = fileURLToPath(url).replace(BUNDLE, bundleFolder(folder));
  const source = readFileSync(path, 'utf8');
  const map = `${path}.map`;
  const code = path.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  const data = await convert({
    ast: parseAst(code),
    code,
    coverage: { ...script, url: url.href },
    wrapperLength: 0,
    ...(existsSync(map) && { sourceMap: JSON.parse(readFileSync(map, 'utf8')) }),
  });
  const sources = new Set(listSources());
  // What pages share with the service is measured as the service runs it; a bundler writes conditions in other forms.
  const isMeasured = (file: string) => sources.has(file) && (!path.endsWith('.js') || file.startsWith('src/dashboard/'));
  const files = Object.keys(data)
    .map((name) => relative(ROOT, name))
    .filter(isMeasured);
  const branches = files.flatMap((file) => {
    const name = join(ROOT, file);
    const { branchMap, b } = data[name]!;
    const lines = readFileSync(name, 'utf8').split('\n');
    return Object.entries(branchMap).flatMap(([id, { type, locations, loc }]) =>
      locations.map((at, path): Branch => {
        const { line, column } = at.start?.line ? at.start : loc.start;
        return { file, line, column, kind: type, path, text: lines[line - 1]!.trim(), times: b[id]![path]! };
      }),
    );
  });
  return { files, branches };
}
