import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { MEMORY_TOOLS } from '../../src/domain/memory.ts';
import { BUILTIN_TOOLS, builtinSpecs, createBuiltinTools } from '../../src/tools/builtin/index.ts';
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

/** Calls a built-in tool whose ports note what they are asked for. */
async function call(name: string, args: object, ports: object = {}) {
  const asked: unknown[][] = [];
  const note =
    (result: unknown) =>
    async (_: unknown, ...rest: unknown[]) => {
      asked.push(rest);
      if (result instanceof Error) throw result;
      return result;
    };
  const given = { storeMemory: note(undefined), searchMemory: note([]), searchKnowledge: note({ items: [], warnings: [] }) };
  const replaced = Object.fromEntries(Object.entries(ports).map(([port, result]) => [port, note(result)]));
  const outcome = await createBuiltinTools({ search_url: null, ...given, ...replaced } as never, [name]).call(
    { name, arguments: args, run: {} } as never,
    new AbortController().signal,
  );
  return { ...outcome, asked };
}

it.each([
  [{}, [{ key: 'name', value: 'Ada', scope: 'agent' }]],
  [{ scope: 'session' }, [{ key: 'name', value: 'Ada', scope: 'session' }]],
  [{ scope: 'global' }, [{ key: 'name', value: 'Ada', scope: 'global' }]],
  [{ value: 'A\0da' }, [{ key: 'name', value: 'A\ufffdda', scope: 'agent' }]],
])('store_memory remembers for the agent, unless the call names another scope: %j', async (args, stored) => {
  const { asked, content, failed } = await call('store_memory', { key: 'name', value: 'Ada', ...args });
  expect([asked, content, failed]).toEqual([[stored], 'Remembered under name.', false]);
});

it.each([
  [{ scope: 'all' }, 'scope must be one of agent, session, global'],
  [{ key: ' ' }, 'key and value must be texts that are not empty'],
  [{ key: 'x'.repeat(501) }, 'key and value must be texts that are not empty'],
  [{ value: 7 }, 'key and value must be texts that are not empty'],
  [{ value: 'x'.repeat(100_001) }, 'key and value must be texts that are not empty'],
])('store_memory refuses %j in words', async (args, content) => {
  expect(await call('store_memory', { key: 'name', value: 'Ada', ...args })).toEqual({ content, failed: true, asked: [] });
});

it('store_memory shows the model what it may not store, and fails for everything else', async () => {
  const full = new AppError('conflict', 'The quota is full');
  expect(await call('store_memory', { key: 'a', value: 'b' }, { storeMemory: full })).toMatchObject({
    ...{ content: 'The quota is full', failed: true },
  });
  await expect(call('store_memory', { key: 'a', value: 'b' }, { storeMemory: new Error('down') })).rejects.toThrow('down');
});

it.each([
  [undefined, 10],
  [1, 1],
  [50, 50],
  [51, 50],
  [0, 1],
  [-7, 1],
  [2.5, 10],
  ['7', 10],
])('searches of memory and knowledge with the limit %j find %i entries', async (limit, most) => {
  for (const name of ['search_memory', 'search_knowledge'])
    expect((await call(name, { query: 'who', limit })).asked, name).toEqual([['who', most]]);
});

it('searches of memory and knowledge show what they found, and no more of it than a model needs', async () => {
  const memories = [{ key: 'name', value: 'Ada', id: 'm' }];
  expect((await call('search_memory', { query: 'who' }, { searchMemory: memories })).content).toBe(
    '[{"key":"name","value":"Ada"}]',
  );
  expect((await call('search_memory', { query: 'who' })).content).toBe('Nothing is remembered about that.');
  const found = { items: [{ name: 'Policy', content: 'By train.', score: 0.123_456, item_id: 'i' }], warnings: ['half'] };
  expect((await call('search_knowledge', { query: 'how' }, { searchKnowledge: found })).content).toBe(
    '{"passages":[{"name":"Policy","content":"By train.","score":0.123}],"warnings":["half"]}',
  );
  expect((await call('search_knowledge', { query: 'how' })).content).toBe('{"passages":[]}');
  for (const name of ['search_memory', 'search_knowledge'])
    expect(await call(name, { query: '' })).toMatchObject({ content: 'query must be a text that is not empty', failed: true });
});

it('manage_todo_list keeps the list and says how much of it is done', async () => {
  const todoList = ['done', 'completed', 'in-progress'].map((status, id) => ({ id, title: `item ${id}`, status }));
  const { content, failed, todos } = await call('manage_todo_list', { todoList });
  expect([content, failed, todos?.map(({ status }) => status)]).toEqual([
    ...['Saved 3 items, 67 % done.', false, ['done', 'done', 'in-progress']],
  ]);
  expect(await call('manage_todo_list', { todoList: [{ title: 'x', status: 'soon' }] })).toMatchObject({ failed: true });
});

describe('web_fetch', () => {
  const MIB = 1_024 ** 2;
  const read = async (response: Response) => {
    const { content, failed } = await call('web_fetch', { url: 'https://pages.test/' }, { fetch: response });
    return { content, failed };
  };

  it.each([
    ['no body', new Response(null, { status: 204 }), '(empty)'],
    ['no type', new Response(Buffer.from('Plain.')), 'Plain.'],
  ])('reads a page of %s as text', async (_what, response, content) => {
    expect(response.headers.get('content-type')).toBeNull();
    expect(await read(response)).toEqual({ content, failed: false });
  });

  it('reads no more than it needs of a large page', async () => {
    let pulled = 0;
    const page = new ReadableStream({
      pull(controller) {
        pulled += 1;
        if (pulled > 20) return controller.close();
        controller.enqueue(Buffer.alloc(MIB, 'a'));
      },
    });
    const { content } = await read(new Response(page));
    expect(content).toContain(`[${6 * MIB - 50_000} more characters; continue with offset 50000]`);
    expect(pulled).toBeLessThan(10);
  });
});

it.each([
  ['EMFILE', 'open'],
  ['EAGAIN', 'spawn'],
])('a command that the machine cannot start now (%s) is tried again, not failed', async (code, syscall) => {
  const lack = Object.assign(new Error('no'), { code, syscall });
  const tools = createBuiltinTools({ startConfined: () => Promise.reject(lack) } as never, ['bash']);
  const run = { workspace: async () => '/nowhere' };
  const asked = { name: 'bash', arguments: { command: 'ls' }, run } as never;
  await expect(tools.call(asked, new AbortController().signal)).rejects.toMatchObject({
    name: 'ToolUnreachable',
    reached: false,
  });
});
