import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { formatCallId } from '../../../src/api/compat/call-ids.ts';
import { streamAnswer } from '../../../src/api/compat/client-calls.ts';
import { createMcpCalls, type McpCallPlace } from '../../../src/api/compat/mcp/calls.ts';
import { reportProgress } from '../../../src/api/compat/mcp/progress.ts';
import { findOwnTask } from '../../../src/api/compat/mcp/run-tasks.ts';
import { formatRefusal, toRunOrder } from '../../../src/api/compat/mcp/run-tools.ts';
import { isStateless } from '../../../src/api/compat/mcp/stateless.ts';
import { listTools } from '../../../src/api/compat/mcp/tools.ts';
import { continueRun } from '../../../src/api/compat/openai/client-tools.ts';
import { streamResponseEvents } from '../../../src/api/compat/openai/replies.ts';
import { type CompatServices, startRun, streamModelText } from '../../../src/api/compat/runs.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createStreamBudget } from '../../../src/events/waiting.ts';
import type { Caller } from '../../../src/identity/caller.ts';

const TASK_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const OTHER_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be002';
const RUN = { task_id: TASK_ID, workflow_id: 'w' };
const CALLER = { key: 'local:ann', login: 'ann' } as Caller;
const TASK = { id: TASK_ID, workflow_id: 'w', owner: CALLER.key, status: 'completed' };
const END = { type: 'status', data: { status: 'completed' } };
const log = (event: string, facts: object = {}) => ({ type: 'log', data: { event, detail: `${event}.`, ...facts } });
const delta = (text: string) => ({ type: 'message_delta', data: { delta: text } });
const message = (content: string, role = 'assistant') => ({ type: 'message', data: { role, content } });
const never = () => new AbortController().signal;

/** Services with one run, which has these events and has ended. */
function servicesOf(events: object[] = [], store: object = {}): CompatServices {
  const record = [...events, END].map((event, at) => ({ ...event, seq: at + 1, task_id: TASK_ID, timestamp: 'now' }));
  return {
    store: { tasks: { find: async () => TASK }, definitions: { get: async () => ({ tools: [] }) }, ...store },
    following: {
      bus: { subscribe: () => () => {} },
      log: {
        read: async (_: string, { after }: { after: number }) => ({
          ...{ events: record.filter(({ seq }) => seq > after), bytes: 0, more: false },
        }),
        extent: async () => ({ last: record.length, over: true, epoch: 0, begin_again_after: null }),
      },
      waiting: createStreamBudget(),
    },
  } as unknown as CompatServices;
}

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

describe('the text of a run', () => {
  const again = log('attempt_reset');
  const restored = log('stream_reset');
  it.each<[string, object[], string]>([
    ['is that of its messages', [delta('Hel'), delta('lo'), message('Hello'), message('b')], 'Hello\n\nb'],
    ['has a gap before a message that is written piece by piece', [message('a'), delta('b'), message('b')], 'a\n\nb'],
    ['has none of what people said', [message('Hi', 'user'), message('a')], 'a'],
    ['continues where an attempt broke off', [delta('Hel'), again, delta('Hel'), message('Hello')], 'Hello'],
    ['begins again if the next attempt says something else', [delta('Hel'), again, delta('Bye'), message('Bye')], 'Hel\n\nBye'],
    [
      'has an answer once that was written after thinking',
      [delta('<think>so</think> Yes'), message('Yes')],
      '<think>so</think> Yes',
    ],
    [
      'has no message twice after a restore',
      [message('a'), message('b'), restored, message('a'), message('b'), message('c')],
      'a\n\nb\n\nc',
    ],
    ['has what differs after a restore', [message('a'), message('b'), restored, message('a'), message('x')], 'a\n\nb\n\nx'],
    ['does not stream what may come again after a restore', [delta('Hel'), restored, delta('Hel'), message('Hello')], 'Hello'],
  ])('%s', async (_, events, text) => {
    expect(await join(streamModelText(servicesOf(events), RUN, never()))).toBe(text);
  });

  it('of a run with a schema ends with its reader, and fails with the service', async () => {
    const definitions = { get: async () => ({ tools: [], output_schema: {} }) };
    const stream = (signal: AbortSignal) => {
      const found = [TASK, TASK];
      const find = async () => found.shift() ?? Promise.reject(new Error('The database is down'));
      return join(streamAnswer(servicesOf([], { tasks: { find }, definitions }), RUN, signal));
    };
    expect(await stream(AbortSignal.abort())).toBe('');
    await expect(stream(never())).rejects.toThrow('The database is down');
  });

  it('that is too long to keep while it is streamed is read again for the last events', async () => {
    const kept: (string | null)[] = [];
    const stream = async (pieces: string[]) => {
      const finish = async (text: string | null) => {
        kept.push(text);
        return null;
      };
      const source = (async function* () {
        yield* pieces;
      })();
      const usage = { total_in: 0, total_out: 0, cache_read: 0 };
      const facts = { started: { ...TASK, usage } as never, finish, model: 'm', after: -1 };
      for await (const _ of streamResponseEvents(source, facts));
    };
    await stream(['a', 'b']);
    await stream(['a'.repeat(65_536)]);
    await stream(['a'.repeat(65_536), 'b', 'c']);
    expect(kept.map((text) => text?.length)).toEqual([2, 65_536, undefined]);
  });
});

describe('a request that was already served', () => {
  it('gets the run that its first attempt started', async () => {
    expect(await startRun(servicesOf(), { model: 'm', prompt: 'p', task_id: TASK_ID }, CALLER)).toEqual(RUN);
  });

  it('cannot give the results of two runs', async () => {
    const outputs = [TASK_ID, OTHER_ID].map((id) => ({ id: formatCallId(id, '1-0'), output: 'x' }));
    await expect(continueRun(servicesOf(), { outputs }, CALLER)).rejects.toMatchObject({
      ...{ code: 'tool_call_not_found', message: 'The results are of calls of different runs' },
    });
  });

  it('continues neither the run of another person nor one of another conversation', async () => {
    const outputs = [{ id: formatCallId(TASK_ID, '1-0'), output: 'x' }];
    const refuse = (task: object, conversation_id: string) => {
      const tasks = { find: async () => ({ ...TASK, ...task }) };
      return continueRun(servicesOf([], { tasks }), { outputs, conversation_id }, CALLER).catch((error: Error) => error.message);
    };
    expect(await refuse({ owner: 'local:bob', conversation_id: 'c3' }, 'c3')).toBe(`No call with id ${outputs[0]!.id}`);
    expect(await refuse({ conversation_id: 'c3' }, 'c5')).toBe(
      'The run that waits for these results does not belong to this conversation',
    );
  });
});

describe('a call of an MCP client', () => {
  const place: McpCallPlace = { session_id: 's', request_id: 1, caller: CALLER };
  const order = { model: 'm', prompt: 'p', task_id: TASK_ID };

  it('without a session starts its run, and one with the id of a call that is being started is refused', async () => {
    const idempotency = { claim: async () => ({ kind: 'busy' }) };
    const calls = createMcpCalls(servicesOf([], { idempotency }));
    expect(await calls.begin(null, order, CALLER)).toEqual(RUN);
    await expect(calls.begin(place, order, CALLER)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it.each([
    ['running', [TASK_ID]],
    ['completed', []],
  ])('that is cancelled while its run is %s halts %j', async (status, expected) => {
    const halted: string[] = [];
    const idempotency = { reserved: async () => TASK_ID, withdraw: async () => false };
    const services = servicesOf([], { idempotency, tasks: { find: async () => ({ ...TASK, status }) } });
    const dispatch = { halt: async (id: string) => void halted.push(id) };
    await createMcpCalls({ ...services, dispatch } as never).cancel(place);
    expect(halted).toEqual(expected);
  });

  it('has the progress of its run, as fast as its client takes it', async () => {
    const seen: string[] = [];
    class SlowResponse extends EventEmitter {
      get writableNeedDrain() {
        setImmediate(() => {
          seen.push('drained');
          this.emit('drain');
        });
        return true;
      }
    }
    const response = new SlowResponse() as unknown as ServerResponse;
    const events = [
      ...[
        log('model_call'),
        log('tool_call', { name: 'add' }),
        log('progress'),
        log('approval_requested'),
        log('question_asked'),
      ],
      ...[log('run_started'), message('x')],
    ];
    const sendNotification = async ({ params }: { params?: unknown }) => {
      const { progressToken, progress, message: text } = params as Record<string, unknown>;
      seen.push(`${progressToken} ${progress} ${text}`);
    };
    const reporting = { progressToken: 'p', response, signal: never(), sendNotification };
    await reportProgress(servicesOf(events), RUN, reporting);
    expect(seen).toEqual(
      ['Asking the model', 'Calling add', 'progress.', 'approval_requested.', 'question_asked.'].flatMap((text, at) => [
        ...[`p ${at + 1} ${text}`, 'drained'],
      ]),
    );
  });

  it('names a tool by its title if that has letters, and gives it a prompt', async () => {
    const workflows = { list: async () => ({ items: [{ id: TASK_ID, title: '要約' }] }) };
    const agents = { list: async () => ({ items: [{ id: OTHER_ID, name: 'Größe!', description: '' }] }) };
    const services = servicesOf([], { workflows, agents });
    expect((await listTools(services, CALLER)).map(({ name }) => name)).toEqual(['workflow_5a1be001', 'Gro_e_5a1be002']);
    const ask = (prompt: unknown) => toRunOrder(services, { name: 'workflow_5a1be001', prompt }, CALLER);
    expect(await ask('Go.')).toEqual({ model: TASK_ID, prompt: 'Go.' });
    for (const prompt of [undefined, 5, ' \n']) await expect(ask(prompt)).rejects.toThrow('prompt must be a non-empty string');
  });

  it('reports when to try again, and a task of the client fails only with the service', async () => {
    const facts = { code: 'rate_limited', retry_after_s: 7 };
    expect(formatRefusal(new AppError('too_many', 'Too much', facts))).toBe('Too much (rate_limited; try again in 7 s)');
    const find = async () => Promise.reject(new Error('The database is down'));
    await expect(findOwnTask(servicesOf([], { tasks: { find } }), CALLER, TASK_ID)).rejects.toThrow('The database is down');
    expect(await findOwnTask(servicesOf(), { ...CALLER, key: 'local:bob' }, TASK_ID)).toBeNull();
  });

  it('is of the version with a handshake if it is one of several', () => {
    const body = { method: 'server/discover' };
    expect([isStateless(body), isStateless([body])]).toEqual([true, false]);
  });
});
