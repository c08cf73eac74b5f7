import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findTip, listBranch, listVersions } from '../../src/dashboard/chat/branches.ts';
import { closeScreens, openScreens, readButtons, SHOWN_TASK, toText } from '../support/browser/rendered.ts';

/** Two versions of the second turn: `c3` was said after `b2`, and `d7` after `b5`. */
const TURNS = [
  { id: 'd7', previous_task_id: 'b5' },
  { id: 'b5', previous_task_id: 'a1' },
  { id: 'c3', previous_task_id: 'b2' },
  { id: 'b2', previous_task_id: 'a1' },
  { id: 'a1', previous_task_id: null },
];
const ids = (turns: readonly { id: string }[]) => turns.map(({ id }) => id);

describe('the branches of a thread', () => {
  it('lead from the first turn to the head', () => {
    expect(ids(listBranch(TURNS, 'c3'))).toEqual(['a1', 'b2', 'c3']);
    expect(ids(listBranch(TURNS, 'b5'))).toEqual(['a1', 'b5']);
    expect(listBranch(TURNS, null)).toEqual([]);
  });

  it('begin with the earliest turn that has been read', () => {
    expect(ids(listBranch(TURNS.slice(0, 4), 'c3'))).toEqual(['b2', 'c3']);
    expect(listBranch(TURNS.slice(0, 2), 'c3')).toEqual([]);
  });

  it('have the versions of a turn, oldest first, each with the newest end', () => {
    expect(ids(listVersions(TURNS, TURNS[1]!))).toEqual(['b2', 'b5']);
    expect(ids(listVersions(TURNS, TURNS[4]!))).toEqual(['a1']);
    expect(findTip(TURNS, 'b2')).toBe('c3');
    expect(findTip(TURNS, 'a1')).toBe('d7');
  });
});

describe('the chat', () => {
  let the: Awaited<ReturnType<typeof openScreens>>;
  beforeAll(async () => {
    the = await openScreens();
  }, 60_000);
  afterAll(closeScreens);

  const page = (items: object[]) => ({ items, total: items.length, next: null });
  const at = '2019-03-07T11:13:17.000Z';
  const thread = {
    ...{ id: 'h', title: null, agent_id: 'a', agent_name: 'Clerk', workflow_id: 'w', pinned: false },
    ...{ head_task_id: 't3', active_task_id: null, updated_at: at },
  };
  const turn = (number: number, more: object) => ({
    ...{ ...SHOWN_TASK, id: `t${number}`, thread_turn: number, previous_task_id: number > 1 ? `t${number - 1}` : null },
    ...{ status: 'completed', response: `Answer ${number}.`, truncated: false, elapsed_seconds: 7 },
    ...{ usage: { total_in: 11, total_out: 13, cost: 0.25 }, prompt: `Question ${number}`, ...more },
  });
  const receipt = (id: string, more: object) => ({
    ...{ id, thread_id: 'h', task_id: id, message: `Message ${id}`, attachments: [], reason: null, ...more },
  });
  const show = (turns: object[], { messages = [], more = {} }: { messages?: object[]; more?: object } = {}) =>
    the.render(the.Chat, {
      ...{ at: '/chat/h', path: '/chat/:thread_id' },
      replies: {
        list_threads: ({ query }) => page(query.pinned ? [] : [{ ...thread, ...more }]),
        get_thread: { ...thread, ...more },
        list_tasks: ({ query }) =>
          page(turns.toReversed().filter((one) => !('status' in query) || query.status === (one as { status: string }).status)),
        list_messages: page(messages),
        list_agents: page([]),
      },
    });

  it('shows what was said and answered, and says what is wrong with an answer', () => {
    const turns = [
      turn(1, { truncated: true }),
      turn(2, { turn_limit_reached: true }),
      turn(3, { response: null, error: 'No key' }),
    ];
    const text = toText(show(turns));
    expect(text).toMatch(
      /Question 1.*Answer 1\..*output limit, so it is incomplete.*Question 2.*Answer 2\..*without further tool calls/,
    );
    expect(text).toMatch(/Question 3.*No key/);
    expect(text.match(/output limit/g)).toHaveLength(1);
    expect(text).toContain('cost $0.25');
    expect(text).toContain('24 tokens');
    expect(text).toContain('Untitled, with Clerk');
  });

  it('marks an estimate, and leaves out figures that nobody knows yet', () => {
    const estimated = { total_in: 17, total_out: 2, cost: 0.5, estimated: true };
    const none = { total_in: 0, total_out: 0, cost: 0 };
    const working = { status: 'running', response: null, usage: none };
    const text = toText(show([turn(1, { usage: estimated }), turn(2, working)], { more: { head_task_id: 't2' } }));
    expect(text).toMatch(/cost about \$0\.5.*about 19 tokens/);
    expect(text).not.toContain('0 tokens');
    expect(text.match(/cost/g)).toHaveLength(1);
  });

  it('says once that a turn was halted, and nothing of a turn that works but what it does', () => {
    const halted = toText(show([turn(1, { status: 'halted' })], { more: { head_task_id: 't1' } }));
    expect(halted.match(/halted/gi)).toHaveLength(1);
    const working = toText(show([turn(1, { status: 'running', response: null })], { more: { head_task_id: 't1' } }));
    expect(working).toContain('The model is thinking');
    expect(working).not.toContain('running');
  });

  it('shows in the list whether a turn works or waits for a person', () => {
    const more = { head_task_id: 't1', active_task_id: 't1' };
    const list = (status: string) => toText(show([turn(1, { status, response: null })], { more }));
    expect(list('waiting')).toContain('waits for you');
    expect(list('waiting')).not.toContain('in progress');
    expect(list('running')).toContain('in progress');
    expect(list('running')).not.toContain('waits for you');
  });

  it('offers to edit a message that was not taken', () => {
    const turns = [turn(1, {}), turn(2, {}), turn(3, {})];
    const offers = (state: string) =>
      Object.keys(readButtons(show(turns, { messages: [receipt('m7', { state, task_id: 't3', reason: 'it was stopped' })] })));
    expect(offers('refused')).toContain('Edit and send again');
    expect(offers('pending')).toContain('Withdraw');
    expect(offers('pending')).not.toContain('Edit and send again');
  });

  it('offers no other version while a turn is in progress', () => {
    const turns = [turn(1, {}), turn(2, {}), turn(3, {})];
    const names = Object.keys(readButtons(show(turns)));
    expect(names).toEqual(expect.arrayContaining(['Edit', 'Regenerate', 'Send']));
    const busy = Object.keys(readButtons(show(turns, { more: { active_task_id: 't3' } })));
    expect(busy).toEqual(expect.arrayContaining(['Stop', 'Send']));
    expect(busy.filter((name) => ['Edit', 'Regenerate'].includes(name))).toEqual([]);
  });

  it('shows where each message is that no turn has read', () => {
    const turns = [turn(1, {}), turn(2, {}), turn(3, { status: 'pending', response: null })];
    const messages = [
      receipt('t3', { state: 'pending' }),
      receipt('m5', { state: 'pending', task_id: 't2' }),
      receipt('m7', { state: 'refused', task_id: 't2', reason: 'the turn was stopped' }),
      receipt('m9', { state: 'withdrawn', task_id: 't2' }),
      receipt('m13', { state: 'withdrawn', task_id: 'elsewhere' }),
      receipt('m11', { state: 'refused', task_id: 'elsewhere', reason: 'superseded' }),
    ];
    const text = toText(show(turns, { messages, more: { active_task_id: 't2' } }));
    expect(text).toMatch(
      /Question 2.*Message m5 .*Waits for the next step.*Message m7 .*Not taken.*the turn was stopped.*Question 3/,
    );
    expect(text).toMatch(/Question 3.*Waits for its turn.*Message m11 .*Not taken.*superseded/);
    expect(text).not.toMatch(/Message (?:m9|m13|t3)/);
  });

  it('shows the message of a turn that is about to begin once', () => {
    const turns = [turn(1, {}), turn(2, {}), turn(3, { status: 'pending', response: null })];
    const messages = [receipt('t3', { state: 'pending' })];
    const text = toText(show(turns, { messages, more: { active_task_id: 't3' } }));
    expect(text).toMatch(/Question 3.*The model is thinking/);
    expect(text).not.toContain('Message t3');
  });
});
