import { randomUUID } from 'node:crypto';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { formatCallId } from '../../../src/api/compat/call-ids.ts';
import { listToolOutputs } from '../../../src/api/compat/openai/client-tools.ts';
import { checkItems, toStoredItems } from '../../../src/api/compat/openai/conversation-items.ts';
import { parsePlacedMessages } from '../../../src/api/compat/openai/messages.ts';
import { isRecordOnly, selectItems } from '../../../src/api/compat/openai/response-items.ts';
import type { CompatItem } from '../../../src/contracts/compat-requests.ts';
import type { AppError } from '../../../src/domain/errors.ts';

type ItemType = NonNullable<ResponseInputItem['type']>;
const ask = { role: 'user', content: 'Go.' };
const read = (items: object[], strict = false) => {
  const { items: selected_items, warnings } = selectItems(items as CompatItem[], 'input', strict);
  return { ...parsePlacedMessages(selected_items), warnings };
};
const refuse = (items: object[], strict = false) => {
  try {
    return read(items, strict);
  } catch (error) {
    const { kind, code, errors, message } = error as AppError;
    return { kind, code, path: errors?.[0]?.path, message };
  }
};

/** Every type of OpenAI's client, as an item is sent back, and what the agent gets of it. A new type does not compile without a row. */
const SAMPLES: Record<ItemType, [item: object, texts: string[]]> = {
  message: [{ role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations: [] }] }, ['b']],
  function_call: [{ call_id: 'c', name: 'f', arguments: '{"a":1}' }, ['[called f with {"a":1}]']],
  function_call_output: [{ call_id: 'c', output: 'x' }, ['x']],
  custom_tool_call: [{ call_id: 'c', name: 'f', input: 'as text' }, ['[called f with as text]']],
  custom_tool_call_output: [{ call_id: 'c', output: [{ type: 'input_text', text: 'x' }] }, ['x']],
  mcp_call: [
    { id: 'm', server_label: 's', name: 'look', arguments: '{"q":"a"}', output: 'found' },
    ['[called look with {"q":"a"}]', 'found'],
  ],
  code_interpreter_call: [
    {
      id: 'ci',
      container_id: 'k',
      code: '1+1',
      outputs: [
        { type: 'logs', logs: '2' },
        { type: 'image', url: 'https://x' },
      ],
    },
    ['[called code_interpreter with {"code":"1+1"}]', '2\n[an image]'],
  ],
  local_shell_call: [
    { id: 'l', call_id: 'c', action: { type: 'exec', command: ['ls', '-l'], env: { KEY: 'secret' } } },
    ['[called local_shell with {"command":["ls","-l"]}]'],
  ],
  local_shell_call_output: [{ id: 'l', output: 'a.txt' }, ['a.txt']],
  shell_call: [{ call_id: 'c', action: { commands: ['ls'] } }, ['[called shell with {"commands":["ls"]}]']],
  shell_call_output: [
    { call_id: 'c', output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 1 } }] },
    ['a\nb\nexit code 1'],
  ],
  apply_patch_call: [
    { call_id: 'c', operation: { type: 'delete_file', path: 'a' } },
    ['[called apply_patch with {"type":"delete_file","path":"a"}]'],
  ],
  apply_patch_call_output: [{ call_id: 'c', status: 'completed' }, ['completed']],
  program: [{ id: 'p', call_id: 'c', code: 'x' }, ['[called program with {"code":"x"}]']],
  program_output: [{ id: 'p', call_id: 'c', result: 'y' }, ['y']],
  reasoning: [{ id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'gAAA' }, []],
  web_search_call: [{ id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }, []],
  file_search_call: [{ id: 'fs_1', status: 'completed', queries: ['q'], results: null }, []],
  mcp_list_tools: [{ id: 'ml_1', server_label: 's', tools: [] }, []],
  mcp_approval_request: [{ id: 'ma_1', server_label: 's', name: 'look', arguments: '{}' }, []],
  mcp_approval_response: [{ approval_request_id: 'ma_1', approve: true }, []],
  compaction: [{ id: 'cmp_1', encrypted_content: 'gAAA' }, []],
  compaction_trigger: [{}, []],
  computer_call: [{ id: 'cu_1', call_id: 'c', action: { type: 'click', x: 1, y: 1 }, pending_safety_checks: [] }, []],
  computer_call_output: [{ call_id: 'c', output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' } }, []],
  image_generation_call: [{ id: 'ig_1', result: 'AAAA', status: 'completed' }, []],
  tool_search_call: [{ arguments: {} }, []],
  tool_search_output: [{ tools: [] }, []],
  additional_tools: [{ role: 'developer', tools: [] }, []],
  configuration_update: [{ reasoning: { effort: 'low' } }, []],
  item_reference: [{ id: 'rs_1' }, []],
};
const ROWS = Object.entries(SAMPLES).map(([type, [item, texts]]) => [type, { type, ...item }, texts] as const);
const KEPT = ROWS.filter(([, , texts]) => texts.length > 0);
const LEFT_OUT = [
  ...ROWS.filter(([, , texts]) => texts.length === 0).map(([type, item]) => [type, item] as const),
  ['ghost_snapshot', { type: 'ghost_snapshot', ghost_commit: {} }] as const,
  ['item_reference', { id: 'rs_1' }] as const,
];

it('a result may be any JSON at every door: in items of a conversation, and for a run that waits for it', () => {
  const items = [
    { type: 'function_call_output', call_id: formatCallId(randomUUID(), '1-0'), output: { a: 1 } },
    { type: 'function_call_output', call_id: formatCallId(randomUUID(), '1-1'), output: [null] },
  ] as CompatItem[];
  expect(checkItems(items, 'items')).toEqual([]);
  expect(toStoredItems(items, []).map(({ item }) => item.output)).toEqual(['{"a":1}', '[null]']);
  expect(listToolOutputs(items).map(({ output }) => output)).toEqual(['{"a":1}', '[null]']);
});

it.each<[string, object, string]>([
  ['a call without its id', { type: 'function_call', name: 'f', arguments: '{}' }, 'call_id'],
  ['a result without the id of its call', { type: 'function_call_output', output: 'x' }, 'call_id'],
  ['a message of nobody', { content: 'x' }, 'role'],
  ['a message of somebody else', { role: 'critic', content: 'x' }, 'role'],
])('%s is not added to a conversation', (_, item, field) => {
  const refusal = expect.objectContaining({ errors: [expect.objectContaining({ path: `items.1.${field}` })] });
  expect(() => checkItems([ask, item] as CompatItem[], 'items')).toThrow(refusal);
});

it('a message of a conversation has its parts, with the ids of its files', () => {
  const [image, page] = [{ type: 'input_image' }, { type: 'input_file' }];
  const stored = (item: object) =>
    toStoredItems(
      [item] as CompatItem[],
      [
        { id: 'f1', name: 'a.png' },
        { id: 'f2', name: 'b.pdf' },
      ] as never,
    )[0];
  expect(stored({ role: 'user', content: [page, { type: 'text', text: 'x' }, image] })).toMatchObject({
    item: {
      content: [
        { type: 'input_file', file_id: 'f1', filename: 'a.png' },
        { type: 'input_text', text: 'x' },
        { type: 'input_image', file_id: 'f2' },
      ],
    },
    file_ids: ['f1', 'f2'],
  });
  expect(stored({ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }, { type: 'refusal' }] })).toMatchObject({
    item: {
      content: [
        { type: 'refusal', refusal: 'No.' },
        { type: 'refusal', refusal: '' },
      ],
    },
    file_ids: [],
  });
  expect(stored({ role: 'assistant', content: null })?.item).toMatchObject({ role: 'assistant', content: [] });
});

it.each(['function_call_output', 'custom_tool_call_output', 'apply_patch_call_output'])('%s may have any output', (type) => {
  const { text_messages } = read([{ type, call_id: 'c', output: { a: 1 } }, { type, call_id: 'd', output: [null] }, ask]);
  expect(text_messages.map(({ text }) => text)).toEqual(['{"a":1}', '[null]', 'Go.']);
});

describe('an item of an earlier answer', () => {
  it.each(KEPT)('%s is given to the agent as text', (_, item, texts) => {
    const { text_messages, warnings } = read([item, ask], true);
    expect([text_messages.map(({ text }) => text), warnings]).toEqual([[...texts, 'Go.'], []]);
  });

  it.each(LEFT_OUT)('%s is left out with a warning, and refused by strict handling', (type, item) => {
    const { text_messages, warnings } = read([ask, item, item, ask]);
    expect(text_messages.map(({ text }) => text)).toEqual(['Go.', 'Go.']);
    expect(warnings).toEqual([{ path: 'input.1', message: expect.stringMatching(`^2 items of type ${type} were left out`) }]);
    expect(refuse([ask, item], true)).toMatchObject({ code: 'unsupported_content', path: 'input.1' });
    expect(refuse([item])).toMatchObject({ kind: 'invalid', path: 'input', message: expect.stringContaining(`type ${type}`) });
  });

  it.each([
    ['an error as text', { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', error: 'No such page' }, 'No such page'],
    ['an error as an object', { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', error: { code: 5 } }, '{"code":5}'],
    [
      'results of a search',
      {
        type: 'file_search_call',
        id: 'f',
        queries: ['q'],
        results: [{ filename: 'a.md', text: 'A' }, { text: 'B' }, { score: 1 }],
      },
      'a.md: A\nB',
    ],
    ['a time limit', { type: 'shell_call_output', call_id: 'c', output: [{ outcome: { type: 'timeout' } }] }, 'timed out'],
    [
      'the output of a command whose outcome is unknown',
      { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'a', outcome: { type: 'lost', exit_code: 7 } }] },
      'a',
    ],
    ['a call without arguments', { type: 'apply_patch_call', call_id: 'c' }, '[called apply_patch with {}]'],
    [
      'a call without code',
      { type: 'code_interpreter_call', id: 'c', outputs: null },
      '[called code_interpreter with {"code":""}]',
    ],
    ...['local_shell_call_output', 'program_output', 'apply_patch_call_output'].map((type): [string, object, string] => [
      `${type} without output`,
      { type, call_id: 'c' },
      '',
    ]),
    ['a shell as text', { type: 'shell_call_output', call_id: 'c', output: 'x' }, 'x'],
    ['a message by another name', { type: 'agent_message', role: 'assistant', content: 'x' }, 'x'],
  ])('keeps %s', (_, item, text) => {
    expect(read([item, ask]).text_messages.at(-2)?.text).toBe(text);
  });

  it('does not move the places of the others', () => {
    const reasoning = { type: 'reasoning', summary: [] };
    const mcp_call = { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', output: 'x' };
    const PIXEL = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const { files } = read([reasoning, mcp_call, { role: 'user', content: [{ type: 'text', text: 'a' }, PIXEL] }]);
    expect(files.map(({ path }) => path)).toEqual(['input.2.content.1']);
    expect(refuse([reasoning, mcp_call, { role: 'user', content: '' }, reasoning])).toMatchObject({ path: 'input.2' });
    expect(refuse([reasoning, { content: 'x' }])).toMatchObject({ path: 'input.1', message: expect.stringContaining('`role`') });
  });

  it('becomes items of a conversation only if it is kept', () => {
    const { items } = selectItems(ROWS.map(([, item]) => item) as CompatItem[], 'input', false);
    const stored = toStoredItems(
      items.map(({ item }) => item),
      [],
    ).map(({ item }) => item);
    expect(new Set(stored.map(({ type }) => type))).toEqual(new Set(['message', 'function_call', 'function_call_output']));
    expect(stored).toHaveLength(KEPT.flatMap(([, , texts]) => texts).length);
    expect(JSON.stringify(stored)).not.toContain('secret');
  });

  it('does not hide the results before it', () => {
    const id = 'call_0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001_1-1';
    const items = [ask, { type: 'function_call_output', call_id: id, output: 'x' }, { type: 'reasoning', summary: [] }];
    expect(listToolOutputs((items as CompatItem[]).filter((item) => !isRecordOnly(item)))).toEqual([{ id, output: 'x' }]);
  });
});
