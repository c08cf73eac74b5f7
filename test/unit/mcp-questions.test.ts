import { describe, expect, it } from 'vitest';
import { QuestionRefused } from '../../src/domain/questions.ts';
import type { McpTarget } from '../../src/tools/mcp/config.ts';
import { createQuestions } from '../../src/tools/mcp/questions.ts';
import type { AskPerson } from '../../src/tools/source.ts';

const FORM = { message: 'Which city?', requestedSchema: { type: 'object', properties: { city: { type: 'string' } } } };
const SECRET = { message: 'Log in', requestedSchema: { type: 'object', properties: { password: { type: 'string' } } } };
const accepts: AskPerson = async () => ({ action: 'accept', content: { city: 'Oslo' } });

interface Scene {
  params?: object;
  /** The runs whose calls are in progress. */
  tasks?: string[];
  ask?: AskPerson | undefined;
  allow_secret_questions?: boolean;
}

/** Has a server ask a question without saying to which call it belongs; returns the answer, or the refusal. */
async function answerTo({ params = FORM, tasks = ['one'], ask = accepts, allow_secret_questions = false }: Scene) {
  const target: McpTarget = {
    ...{ id: 'm', name: 'notes', network: false, paths: [], endpoint: { kind: 'stdio', command: 'x', args: [], env: {} } },
    ...(allow_secret_questions && { allow_secret_questions: true }),
  };
  const questions = createQuestions(target);
  type Handler = (request: object, context: object) => Promise<object>;
  const handlers: Handler[] = [];
  questions.listen({ setRequestHandler: (_method: string, handler: Handler) => handlers.push(handler) } as never);
  const refusals: string[] = [];
  const clock = { pause() {}, resume() {}, progress() {}, end() {} };
  const ended = Promise.withResolvers<void>();
  const calls = tasks.map((task_id) =>
    questions.during({ task_id, ask, clock, reportRefusal: (sentence) => refusals.push(sentence) }, () => ended.promise),
  );
  const context = { mcpReq: { signal: new AbortController().signal } };
  const answer = await handlers[0]!({ params }, context).catch(({ message }: Error) => message);
  ended.resolve();
  await Promise.all(calls);
  return { answer, refusals };
}

describe('a question of an MCP server', () => {
  it.each<[string, Scene]>([
    ['while a run calls it', {}],
    ['while one run calls it twice', { tasks: ['one', 'one'] }],
    ['for a secret that its owner allows', { params: SECRET, allow_secret_questions: true }],
  ])('is put to the person %s', async (_what, scene) => {
    expect(await answerTo(scene)).toEqual({ answer: { action: 'accept', content: { city: 'Oslo' } }, refusals: [] });
  });

  it.each<[string, Scene, string]>([
    ['outside of calls', { tasks: [] }, 'questions are answered only while one of its tools is called'],
    [
      'while two runs call it',
      { tasks: ['one', 'two'] },
      'several runs call this server now, and it does not show which of them its question belongs to',
    ],
    [
      'that is answered at a URL',
      { params: { mode: 'url', message: 'Pay', url: 'https://pay.test' } },
      'questions that are answered at a URL are not supported',
    ],
    ['that the run refuses', { ask: () => Promise.reject(new QuestionRefused('nobody is there')) }, 'nobody is there'],
    [
      'whose call ends, without the reason of this installation',
      { ask: () => Promise.reject(new Error('the database at 10.0.0.1 is down')) },
      'the call ends, or cannot be continued now',
    ],
  ])('%s is refused, and the server reads why', async (_what, scene, reason) => {
    expect(await answerTo(scene)).toEqual({ answer: `Perdura does not ask: ${reason}`, refusals: [] });
  });

  it('for a secret is refused, and the model reads who can allow it', async () => {
    const { answer, refusals } = await answerTo({ params: SECRET });
    expect(answer).toMatch(/asks for a password, an access token or another secret/);
    expect(refusals).toEqual([
      expect.stringMatching(/^Perdura refused a question of the MCP server notes: .*allow_secret_questions$/),
    ]);
  });
});
