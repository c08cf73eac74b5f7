import { describe, expect, it } from 'vitest';
import { listFileIds, toImportedTurns } from '../../../src/api/compat/openai/given-turns.ts';

const message = (role: string, text: string, ...more: object[]) => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }, ...more],
});
const call = (call_id: string, name = 'add') => ({ type: 'function_call', call_id, name, arguments: '{"a":17}' });
const output = (call_id: string, text: string) => ({ type: 'function_call_output', call_id, output: text });
const [F1, F2] = ['0197a0c4-0000-7000-8000-000000000001', '0197a0c4-0000-7000-8000-000000000002'] as const;
const file = (id: string) => ({ id, name: `${id}.png`, media_type: 'image/png', size: 7, sha256: 'h' });

const turnsOf = (items: { type: string }[], files = [file(F1), file(F2)]) =>
  toImportedTurns(
    items.map((item, index) => ({ id: `item ${index}`, item })),
    files,
  );
const show = (items: { type: string }[]) =>
  turnsOf(items).map(({ messages }) =>
    messages.map(({ step, position, role, content, call_id, tool_calls }) => [
      `${step}/${position}`,
      role,
      tool_calls?.map((one) => `${one.name} ${one.call_id}`).join() ?? call_id ?? content,
    ]),
  );

describe('items that a client gave', () => {
  it('are one turn for each message of the user, with its files and the last answer', () => {
    const items = [
      message('user', 'One prime?', { type: 'input_image', file_id: F1 }),
      message('assistant', 'Two.'),
      message('assistant', 'Or three.'),
      message('user', 'Another?', { type: 'input_image', file_id: F2 }),
    ];
    expect(show(items)).toEqual([
      [
        ['0/0', 'user', 'One prime?'],
        ['1/0', 'assistant', 'Two.'],
        ['2/0', 'assistant', 'Or three.'],
      ],
      [['0/0', 'user', 'Another?']],
    ]);
    expect(turnsOf(items).map(({ prompt, response, files }) => [prompt, response, files.map(({ id }) => id)])).toEqual([
      ['One prime?', 'Or three.', [F1]],
      ['Another?', null, [F2]],
    ]);
    expect(listFileIds(items.map((item) => ({ id: 'x', item })))).toEqual([F1, F2]);
  });

  it('begin with a turn without a prompt if the first is not of the user', () => {
    expect(turnsOf([message('assistant', 'Welcome.')])).toMatchObject([{ prompt: '', response: 'Welcome.' }]);
  });

  it('keep calls that were given together as one round, and each result next to its call', () => {
    const items = [
      ...[message('user', 'Add.'), call('a'), call('b'), output('b', '5'), output('a', '3')],
      ...[call('c'), message('assistant', 'So'), output('c', '7')],
    ];
    expect(show(items)).toEqual([
      [
        ['0/0', 'user', 'Add.'],
        ['1/0', 'assistant', 'add 1-1,add 1-2'],
        ['1/1', 'tool', '1-1'],
        ['1/2', 'tool', '1-2'],
        ['2/0', 'assistant', 'add 2-1'],
        ['2/1', 'tool', '2-1'],
        ['3/0', 'assistant', 'So'],
      ],
    ]);
    const [turn] = turnsOf(items);
    expect(turn!.messages.map(({ content }) => content).filter((content) => content !== '')).toEqual([
      'Add.',
      '3',
      '5',
      '7',
      'So',
    ]);
  });

  it('have text instead of a call without a result, and of a result without a call', () => {
    expect(show([message('user', 'Add.'), call('a'), output('z', '7')])).toEqual([
      [
        ['0/0', 'user', 'Add.'],
        ['1/0', 'assistant', '[called add with {"a":17}]'],
        ['2/0', 'user', '<message role="tool">\n7\n</message>'],
      ],
    ]);
  });

  it('mark messages of the developer, which is no role in the middle of a conversation', () => {
    expect(show([message('user', 'Hi.'), message('developer', 'Be kind.')])[0]![1]).toEqual([
      '1/0',
      'system',
      '<message role="developer">\nBe kind.\n</message>',
    ]);
  });

  it('are all in the record of the messages, in which each is once', () => {
    const items = [message('user', 'Add.'), call('a'), call('b'), output('a', '3'), output('b', '5'), message('assistant', '8')];
    const kept = turnsOf(items).flatMap(({ messages }) => messages.flatMap(({ extra }) => (extra as any).items));
    expect(kept.map(({ id }) => id).toSorted()).toEqual(items.map((_, index) => `item ${index}`));
  });
});
