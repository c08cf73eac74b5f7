import { describe, expect, it } from 'vitest';
import { getDialect } from '../../src/domain/dialect.ts';
import type { SentMessage } from '../../src/domain/transcript.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import { exchangeOf, message } from './support.ts';

const of = (turn: number, values: Partial<SentMessage>): SentMessage => ({ ...message(values), turn, ...values });
const imageOf = (name: string) => ({ name, media_type: 'image/png', data: Buffer.from(name).toString('base64') });
const PDF = { name: 'price-7.pdf', media_type: 'application/pdf', data: 'cGRm' };
const contextOf = (turn: number, content: string) => of(turn, { position: -2, role: 'system', kind: 'context', content });
const askedTo = (turn: number) =>
  of(turn, {
    ...{ step: 1, role: 'assistant', kind: 'reply', content: 'I look.' },
    tool_calls: [{ call_id: `${turn}-1-1`, name: 'shoot', arguments: '{}' }],
  });
const shotIn = (turn: number, more: Partial<SentMessage> = {}) =>
  of(turn, { step: 1, position: 1, role: 'tool', kind: 'result', content: `shot ${turn}`, call_id: `${turn}-1-1`, ...more });

const FIRST = [
  contextOf(1, 'Ada has 11 cats.'),
  of(1, { content: 'Compare 13 with this.', files: [imageOf('ada-3.png')] }),
  askedTo(1),
  shotIn(1, { files: [imageOf('shot-5.png')] }),
];
const ANSWER = of(1, { step: 2, role: 'assistant', kind: 'reply', content: 'It is 17.' });
const SECOND = [contextOf(2, 'Bob has 19 dogs.'), of(2, { content: 'And 23?', files: [PDF, imageOf('bob-29.png')] })];
const CONVERSATION = [...FIRST, ANSWER, ...SECOND];

const chatMessages = (transcript: SentMessage[], more = {}) =>
  chatRequest(exchangeOf({ transcript }), 'm', { ...getDialect(null, 'm'), ...more }).messages;
const urlOf = (name: string) => `data:image/png;base64,${imageOf(name).data}`;

describe('several turns as chat completions', () => {
  it('have the files of each prompt and of each round of results where they came', () => {
    expect(chatMessages(CONVERSATION)).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'Ada has 11 cats.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare 13 with this.' },
          { type: 'image_url', image_url: { url: urlOf('ada-3.png') } },
        ],
      },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: '1-1-1' }] },
      { role: 'tool', content: 'shot 1', tool_call_id: '1-1-1' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Returned by the tools: shot-5.png' },
          { type: 'image_url', image_url: { url: urlOf('shot-5.png') } },
        ],
      },
      { role: 'assistant', content: 'It is 17.' },
      { role: 'user', content: 'Bob has 19 dogs.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And 23?' },
          { type: 'file', file: { filename: 'price-7.pdf' } },
          { type: 'image_url', image_url: { url: urlOf('bob-29.png') } },
        ],
      },
    ]);
  });

  it('begin with the messages of the turns before, byte for byte', () => {
    const before = chatMessages([...FIRST, ANSWER]);
    const after = chatMessages(CONVERSATION);
    expect([before.length, after.length]).toEqual([7, 9]);
    expect(JSON.stringify(after.slice(0, 7))).toBe(JSON.stringify(before));
  });

  it('have the context of a later turn as a user’s message; that of the first, and of a run by itself, as the system’s', () => {
    const rolesOf = (transcript: SentMessage[]) => chatMessages(transcript).map(({ role }) => role);
    expect(rolesOf([...FIRST.slice(0, 2), ANSWER, ...SECOND])).toEqual([
      ...['system', 'system', 'user', 'assistant', 'user', 'user'],
    ]);
    const alone = [...FIRST.slice(0, 2), ANSWER, ...SECOND].map(({ turn: _, ...rest }) => rest);
    expect(rolesOf(alone)).toEqual(['system', 'system', 'user', 'assistant', 'system', 'user']);
  });

  it('are sent to Mistral with an answer between the results of an ended turn and the next prompt', () => {
    expect(chatMessages([...FIRST, ...SECOND], { strict_calls: true }).slice(4)).toMatchObject([
      { role: 'tool', content: 'shot 1' },
      { role: 'assistant', content: '(The run ended before it gave an answer.)' },
      { role: 'user', content: 'Bob has 19 dogs.' },
      { role: 'user', content: [{ text: 'And 23?' }, { type: 'file' }, { type: 'image_url' }] },
    ]);
    const reminder = of(1, { step: 1, position: 100_000, kind: 'reminder', content: 'Goal 31.' });
    expect(chatMessages([...FIRST, reminder, ANSWER], { strict_calls: true }).slice(4)).toMatchObject([
      { role: 'tool', content: 'shot 1\n\nGoal 31.' },
      { role: 'assistant', content: 'It is 17.' },
    ]);
  });
});

describe('several turns of the Messages API', () => {
  const turnsOf = (transcript: SentMessage[], more = {}) => messagesRequest(exchangeOf({ transcript, ...more }), 'claude');
  const contentsOf = (transcript: SentMessage[]) =>
    turnsOf(transcript).messages.map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((block: any) => block.text ?? block.title ?? block.source?.data ?? block.type),
    );
  const dataOf = (name: string) => imageOf(name).data;

  it('have the files of each prompt before its text, and those of results within them', () => {
    expect(contentsOf(CONVERSATION)).toEqual([
      ['Ada has 11 cats.', dataOf('ada-3.png'), 'Compare 13 with this.'],
      ['I look.', 'tool_use'],
      ['tool_result'],
      'It is 17.',
      ['Bob has 19 dogs.', 'price-7.pdf', dataOf('bob-29.png'), 'And 23?'],
    ]);
    expect(turnsOf(CONVERSATION).messages[2]!.content).toMatchObject([
      {
        ...{ type: 'tool_result', tool_use_id: '1-1-1' },
        content: [{ text: 'shot 1' }, { type: 'image', source: { data: dataOf('shot-5.png') } }],
      },
    ]);
  });

  it('have the results of a turn that ended without an answer before the next prompt', () => {
    expect(contentsOf([...FIRST, ...SECOND])[2]).toEqual([
      ...['tool_result', 'Bob has 19 dogs.', 'price-7.pdf', dataOf('bob-29.png'), 'And 23?'],
    ]);
  });

  const use = { type: 'server_tool_use', id: 'srv-37', name: 'web_search', arguments: '{}' };
  const hosted_tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const searches = (turn: number) => ({ ...askedTo(turn), extra: { blocks: [use, { type: 'tool_use' }], container: 'box-41' } });

  it('neither ask for a call that the vendor did not make in an earlier turn, nor for its container', () => {
    const earlier = turnsOf([of(1, { content: 'Look.' }), searches(1), shotIn(1), of(2, { content: 'And?' })], { hosted_tools });
    expect(earlier.container).toBeUndefined();
    expect(JSON.stringify(earlier.messages)).not.toContain('srv-37');
    const own = turnsOf([of(1, { content: 'Hi.' }), of(2, { content: 'Look.' }), searches(2), shotIn(2)], { hosted_tools });
    expect(own.container).toBe('box-41');
    expect(JSON.stringify(own.messages)).toContain('srv-37');
  });
});
