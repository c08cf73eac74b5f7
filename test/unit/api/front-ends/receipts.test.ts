import { describe, expect, it } from 'vitest';
import { answerAgUi } from '../../../../src/api/compat/ag-ui/answer.ts';
import { answerUi } from '../../../../src/api/compat/ui/answer.ts';
import type { NewEvent } from '../../../../src/events/task-events.ts';
import { readRun } from '../../../support/front-ends/ag-ui-reader.ts';
import {
  asksApproval,
  awaits,
  call,
  completes,
  log,
  MESSAGE_ID,
  message,
  modelCall,
  numbered,
  OTHER_TASK_ID,
  recordOf,
  status,
  steers,
  TASK_ID,
} from '../../../support/front-ends/run-record.ts';
import { listFrames, readMessage, toFileUrl } from '../../../support/front-ends/ui-reader.ts';
import { ADDS, framesOf, HELLO, WAITS } from '../../../support/front-ends/ui-runs.ts';

const passedOn = (task_id: string) => log('message_passed_on', 'Faster!', { message_id: MESSAGE_ID, task_id });
const refused = log('message_refused', 'Faster!', { message_id: MESSAGE_ID, reason: 'stopped' });
const withdrawn = (message_id: string) => log('message_withdrawn', 'The author withdrew the message', { message_id });
const says = (step: number, text: string) => [modelCall(step), message('assistant', text, { step })];
const halted = status('halted', 0);
const received = log('prompt_received', 'Add.', { task_id: TASK_ID });
const begins = [received, status('running', 0)];
const READS = [...begins, ...ADDS, awaits('Faster!'), steers('Faster!', 2), ...says(2, 'Ok'), ...completes()];
const STOPPED = 'The run was stopped before it read this message; send the message again';

type Frames = Awaited<ReturnType<typeof framesOf>>;
const receiptsIn = (frames: Frames) =>
  frames.flatMap(({ data }) => {
    const { type, name, data: of_ui, value } = data as Record<string, any>;
    return type === 'data-receipt' ? [of_ui] : name === 'perdura.receipt' ? [value] : [];
  });
const statesIn = (frames: Frames) => receiptsIn(frames).map(({ state, task_id, step }) => [state, task_id, step]);

describe('the stream of a run', () => {
  it('reports that a message waits, and which step has read it, and is no longer for that', async () => {
    const frames = await framesOf(READS);
    expect(receiptsIn(frames)).toEqual([
      { message_id: MESSAGE_ID, state: 'pending', task_id: TASK_ID, step: null },
      { message_id: MESSAGE_ID, state: 'steered', task_id: TASK_ID, step: 2 },
    ]);
    const { message: shown } = await readMessage(frames);
    expect(shown?.parts.map(({ type }) => type)).not.toContain('data-receipt');
  });

  it('reports that a message was passed on, refused or withdrawn', async () => {
    const endOf = async (event: NewEvent) => receiptsIn(await framesOf([...HELLO, awaits('Faster!'), event, halted])).at(-1);
    expect(await endOf(passedOn(OTHER_TASK_ID))).toMatchObject({ state: 'pending', task_id: OTHER_TASK_ID });
    expect(await endOf(refused)).toEqual({
      ...{ message_id: MESSAGE_ID, state: 'refused', task_id: TASK_ID, step: null, reason: STOPPED },
    });
    expect(await endOf(withdrawn(MESSAGE_ID))).toMatchObject({ message_id: MESSAGE_ID, state: 'withdrawn' });
  });

  it('reports each state of its prompt, if that was sent as a message', async () => {
    const states = async (events: readonly NewEvent[]) => statesIn(await framesOf(events, { is_message: true }));
    const pending = ['pending', TASK_ID, null];
    expect(await states([...begins, ...HELLO, ...completes()])).toEqual([pending, ['started', TASK_ID, null]]);
    expect(await states([received, withdrawn(TASK_ID), halted])).toEqual([pending, ['withdrawn', TASK_ID, null]]);
    expect(receiptsIn(await framesOf([...begins, ...HELLO, ...completes()]))).toEqual([]);
  });

  it.each([
    ['was stopped', halted, 'The turn was stopped before it began'],
    ['failed', status('failed', 0, { error: 'No such model' }), 'No such model'],
  ])('reports that its prompt is refused, if it %s before it began', async (_, end, reason) => {
    const receipts = receiptsIn(await framesOf([received, end], { is_message: true }));
    expect(receipts.at(-1)).toMatchObject({ message_id: TASK_ID, state: 'refused', reason });
  });
});

/** Opens the records of these runs. */
const runsOf = (runs: Record<string, readonly NewEvent[]>) => async (task_id: string) => ({
  record: recordOf(numbered(runs[task_id]!)),
  place: {
    task_id,
    toFileUrl,
    client_tools: [],
    is_message: task_id === MESSAGE_ID,
    sent: { message_id: MESSAGE_ID, sent_as: 'm9' },
  },
});
const TURN = { task_id: TASK_ID, workflow_id: TASK_ID, after: 0, is_new: false, message_id: MESSAGE_ID };
const HELD = [...begins, ...HELLO, awaits('Faster!')];
const OWN = [log('prompt_received', 'Faster!', { task_id: MESSAGE_ID }), ...begins.slice(1), ...says(1, 'Fast.'), ...completes()];
const OTHER = [...begins, steers('Faster!', 1), ...says(1, 'Both.'), ...completes()];

describe('a message of useChat for the turn in progress', () => {
  const answer = (runs: Record<string, readonly NewEvent[]>) => listFrames(answerUi(TURN, runsOf(runs)));
  const startOf = (frames: Frames) => frames.map(({ data }) => data as any).find(({ type }) => type === 'start').messageId;

  it('is answered by the message of the run that reads it, from its beginning, and names the id of the page', async () => {
    const frames = await answer({ [TASK_ID]: READS });
    expect(frames.slice(0, 2).map(({ data }) => data)).toMatchObject([
      { type: 'data-receipt', data: { state: 'pending', sent_as: 'm9' } },
      { type: 'start' },
    ]);
    expect(receiptsIn(frames).at(-1)).toEqual({
      ...{ message_id: MESSAGE_ID, state: 'steered', task_id: TASK_ID, step: 2, sent_as: 'm9' },
    });
    const { message: shown } = await readMessage(frames);
    expect(shown?.id).toBe(TASK_ID);
    expect(shown?.parts.map(({ type }) => type)).toEqual([
      ...['step-start', 'text', 'dynamic-tool', 'steering-message', 'step-start', 'text'],
    ]);
  });

  it('has the id of the page, and no other message has', async () => {
    const other = log('message_waiting', 'Slower!', { message_id: OTHER_TASK_ID });
    const frames = await answer({ [TASK_ID]: [...HELD, other, ...completes()] });
    const named = receiptsIn(frames).map(({ message_id, sent_as }) => [message_id, sent_as]);
    expect(named).toEqual([
      [MESSAGE_ID, 'm9'],
      [MESSAGE_ID, 'm9'],
      [OTHER_TASK_ID, undefined],
    ]);
  });

  it('is answered by its own turn, if the run ends first', async () => {
    const frames = await answer({ [TASK_ID]: [...HELD, passedOn(MESSAGE_ID), ...completes()], [MESSAGE_ID]: OWN });
    expect(startOf(frames)).toBe(MESSAGE_ID);
    expect(statesIn(frames)).toEqual([
      ['pending', TASK_ID, null],
      ['pending', MESSAGE_ID, null],
      ['pending', MESSAGE_ID, null],
      ['started', MESSAGE_ID, null],
    ]);
    expect((await readMessage(frames)).message?.parts.at(-1)).toMatchObject({ text: 'Fast.' });
  });

  it('is answered by the turn that was waiting before it, if that reads it', async () => {
    const frames = await answer({ [TASK_ID]: [...HELD, passedOn(OTHER_TASK_ID), ...completes()], [OTHER_TASK_ID]: OTHER });
    expect(startOf(frames)).toBe(OTHER_TASK_ID);
    expect(statesIn(frames).at(-1)).toEqual(['steered', OTHER_TASK_ID, 1]);
  });

  it.each([
    ['is refused', [...HELD, refused, halted]],
    ['is withdrawn', [...HELD, withdrawn(MESSAGE_ID), ...completes()]],
    ['waits with a run that waits for the page', [...begins, ...WAITS.slice(0, 2), awaits('Faster!'), ...WAITS.slice(2)]],
  ])('is answered by the run as it is, if it %s', async (_, events) => {
    expect(startOf(await answer({ [TASK_ID]: events }))).toBe(TASK_ID);
  });
});

describe('a message of an AG-UI client for the turn in progress', () => {
  const PROMPT = { id: 'm1', role: 'user', content: 'Add.' };
  const SENT = { id: 'm9', role: 'user', content: 'Faster!' };
  const input = { threadId: 't', runId: 'r', messages: [PROMPT, SENT], tools: [], context: [] };
  const answer = (runs: Record<string, readonly NewEvent[]>) => listFrames(answerAgUi(TURN, input, runsOf(runs)));
  const read = async (frames: Frames) => {
    const { messages, interrupts } = await readRun(frames, [PROMPT, SENT]);
    return { lines: messages.map(({ role, content }) => `${role}: ${content}`), ids: messages.map(({ id }) => id), interrupts };
  };

  it('stands in the page where the run has read it', async () => {
    const frames = await answer({ [TASK_ID]: READS });
    const { lines, ids } = await read(frames);
    expect(lines).toEqual(['user: Add.', 'assistant: I add.', 'tool: {"sum":42}', 'user: Faster!', 'assistant: Ok']);
    expect(ids.indexOf(`${TASK_ID}-${MESSAGE_ID}`)).toBe(3);
    expect((frames[0]!.data as any).type).toBe('RUN_STARTED');
  });

  it('is the last one until then, also when it arrives while the run works', async () => {
    const frames = await listFrames(
      answerAgUi(TURN, input, async () => ({
        record: recordOf(numbered(READS), 5),
        place: { task_id: TASK_ID, toFileUrl, client_tools: [], sent: { message_id: MESSAGE_ID, sent_as: 'm9' } },
      })),
    );
    const snapshots = frames.flatMap(({ data }) => ((data as any).type === 'MESSAGES_SNAPSHOT' ? [(data as any).messages] : []));
    expect(snapshots[0].map(({ id }: { id: string }) => id)).toEqual(['m1', `${TASK_ID}-1`, `${TASK_ID}-result-1-1`, MESSAGE_ID]);
    expect(statesIn(frames)).toEqual([
      ['pending', TASK_ID, null],
      ['steered', TASK_ID, 2],
    ]);
    expect((await read(frames)).lines).toEqual([
      ...['user: Add.', 'assistant: I add.', 'tool: {"sum":42}', 'user: Faster!', 'assistant: Ok'],
    ]);
  });

  it.each<[string, number]>([
    ['before the request came', 0],
    ['afterwards', 7],
  ])('continues with its own turn, if the run has ended %s', async (_, live) => {
    const runs: Record<string, NewEvent[]> = { [TASK_ID]: [...HELD, passedOn(MESSAGE_ID), ...completes()], [MESSAGE_ID]: OWN };
    const open = runsOf(runs);
    const frames = await listFrames(
      answerAgUi(TURN, input, async (task_id) => ({
        ...(await open(task_id)),
        record: recordOf(numbered(runs[task_id]!), live),
      })),
    );
    const { lines, ids } = await read(frames);
    expect(lines).toEqual(['user: Add.', 'assistant: Hello', 'user: Faster!', 'assistant: Fast.']);
    expect(ids[2]).toBe(`${MESSAGE_ID}-prompt`);
    expect(frames.filter(({ data }) => /^RUN_/.test((data as any).type)).map(({ data }) => (data as any).type)).toEqual([
      ...['RUN_STARTED', 'RUN_FINISHED'],
    ]);
  });

  it('waits with a run that is interrupted', async () => {
    const asks = [
      ...begins,
      modelCall(1),
      message('assistant', 'I add.', { step: 1, tool_calls: [call('1-1', 'add', '{"a":17}')] }),
    ];
    const frames = await answer({ [TASK_ID]: [...asks, awaits('Faster!'), ...asksApproval('1-1', 'add', '{"a":17}')] });
    const { lines, interrupts } = await read(frames);
    expect(lines).toEqual(['user: Add.', 'assistant: I add.', 'user: Faster!']);
    expect(interrupts).toHaveLength(1);
  });

  it('ends with the run that is stopped before it reads it', async () => {
    const frames = await answer({ [TASK_ID]: [...HELD, refused, halted] });
    expect(receiptsIn(frames).at(-1)).toMatchObject({ state: 'refused', reason: STOPPED, sent_as: 'm9' });
    expect(frames.at(-1)?.data).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  });
});
