import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mergeScriptCovs, type ScriptCov } from '@bcoe/v8-coverage';
import { convert } from 'ast-v8-to-istanbul';
import { parseAst } from 'vite';

export const ROOT = join(import.meta.dirname, '../..');

/** One of several ways that code can go on: a side of a condition, a case, a default, an operand. */
export interface Branch {
  file: string;
  line: number;
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

/** Merges what all processes have written to a folder, and to its subfolder `children`. */
export async function readCoverage(folder: string, files: readonly string[]): Promise<Coverage> {
  const scripts = readScripts(folder);
  const branches: Branch[] = [];
  const unloaded: string[] = [];
  for (const file of files) {
    const found = scripts.get(file);
    if (found) branches.push(...(await listBranches(file, mergeScriptCovs(found)!)));
    else unloaded.push(file);
  }
  return { branches, unloaded };
}

function readScripts(folder: string): Map<string, ScriptCov[]> {
  const scripts = new Map<string, ScriptCov[]>();
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.json')) continue;
    const { result } = JSON.parse(readFileSync(join(folder, entry), 'utf8')) as { result: ScriptCov[] };
    for (const script of result) {
      const file = script.url.startsWith('file:') ? relative(ROOT, fileURLToPath(script.url)) : '';
      if (!file.startsWith('src/')) continue;
      const known = scripts.get(file);
      if (known) known.push(script);
      else scripts.set(file, [script]);
    }
  }
  return scripts;
}

async function listBranches(file: string, script: ScriptCov): Promise<Branch[]> {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const code = stripTypeScriptTypes(source);
  const data = await convert({ ast: parseAst(code), code, coverage: script, wrapperLength: 0 });
  const lines = source.split('\n');
  return Object.values(data).flatMap(({ branchMap, b }) =>
    Object.entries(branchMap).flatMap(([id, { type, locations, loc }]) =>
      locations.map((at, path): Branch => {
        const { line, column } = at.start?.line ? at.start : loc.start;
        return { file, line, column, kind: type, path, text: lines[line - 1]!.trim(), times: b[id]![path]! };
      }),
    ),
  );
}
