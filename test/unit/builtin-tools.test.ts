import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MEMORY_TOOLS } from '../../src/domain/memory.ts';
import { BUILTIN_TOOLS, builtinSpecs } from '../../src/tools/builtin/index.ts';
import type { Builtin } from '../../src/tools/builtin/tool.ts';

const FOLDER = new URL('../../src/tools/builtin/', import.meta.url);

const isTool = (value: unknown): value is Builtin<never> =>
  value !== null && typeof value === 'object' && 'spec' in value && 'create' in value;

it('the list has every tool that a file of the folder declares', async () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.ts'));
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href) as Promise<object>));
  const declared = modules.flatMap((module) => Object.values(module)).filter(isTool);
  const names = declared.map(({ spec }) => spec.name).sort();
  expect(names.length).toBeGreaterThan(10);
  expect(BUILTIN_TOOLS.map(({ spec }) => spec.name).sort()).toEqual([...new Set(names)]);
});

it('tools on memory are those that a run without memory goes without', () => {
  const on_memory = BUILTIN_TOOLS.filter(({ works_on }) => works_on === 'memory');
  expect(on_memory.map(({ spec }) => spec.name)).toEqual(MEMORY_TOOLS);
});

it('every tool whose calls are brief may be called again: its first attempt is recorded only when it ends', () => {
  const brief = builtinSpecs().filter((spec) => spec.brief);
  expect(brief.length).toBeGreaterThan(0);
  expect(brief.filter(({ effect }) => effect !== 'read' && effect !== 'idempotent')).toEqual([]);
});

it('without a search endpoint there is no web_search, and every other tool', () => {
  const offered = builtinSpecs({ search_url: null }).map(({ name }) => name);
  expect(offered).toEqual(
    builtinSpecs({ search_url: 'https://search.test' }).flatMap(({ name }) => (name === 'web_search' ? [] : name)),
  );
});
