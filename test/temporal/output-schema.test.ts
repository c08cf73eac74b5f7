import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const SUM = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };
const summing = (more: object = {}) => here.workflow({ workflow: { output_schema: SUM }, ...more });
const ended = async (workflow_id: string) => here.ended(await here.prompt(workflow_id));
const bodyOf = (task_id: string, path: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}/${path}`));
const logsOf = async (workflow_id: string) => {
  const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return logs.filter(({ event }: { event: string }) => event === 'output_rejected');
};

describe('a run of a workflow with an output schema', () => {
  it('is completed by an answer that fits, which is JSON in the format markdown too', async () => {
    const workflow_id = await summing();
    here.model.script(says('```json\n{"sum": 42}\n```'));
    expect(await ended(workflow_id)).toMatchObject({ status: 'completed', response: { sum: 42 }, steps: 1 });
    const { messages, response_format } = here.model.requests.at(-1)!;
    expect(response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: expect.objectContaining(SUM) },
    });
    expect(messages[0]?.content).toContain('"required":["sum"]');
    expect(await logsOf(workflow_id)).toEqual([]);
  });

  it('asks the model once more, with what is wrong, after an answer that does not fit', async () => {
    const workflow_id = await summing();
    here.model.script(says('{"sum": "42"}'), says('{"sum": 42}'));
    const task = await ended(workflow_id);
    expect(task).toMatchObject({ status: 'completed', response: { sum: 42 }, steps: 2, turns: 0, usage: { total_in: 20 } });
    const asked = here.model.requests.at(-1)!.messages.slice(-2);
    expect(asked).toMatchObject([
      { role: 'assistant', content: '{"sum": "42"}' },
      { role: 'user', content: expect.stringContaining('does not fit the output schema: /sum must be integer') },
    ]);
    expect(await logsOf(workflow_id)).toMatchObject([{ detail: expect.stringContaining('/sum must be integer'), final: false }]);
    const [first, second] = (await bodyOf(task.id, 'steps')) as unknown as { step: number }[];
    expect([first?.step, second?.step]).toEqual([1, 2]);
    expect(await bodyOf(task.id, 'steps/2/request')).toMatchObject({ messages: [{}, {}, { kind: 'repair' }] });
  });

  it('fails with the first faults if the second answer does not fit either', async () => {
    const workflow_id = await summing();
    here.model.script(says('It is 42.'), says('{}'));
    const task = await ended(workflow_id);
    expect(task).toMatchObject({ status: 'failed', error_code: 'output_invalid', response: null, steps: 2 });
    expect(task.error).toBe(
      "The answer does not fit output_schema, nor did the one before it: the answer must have required property 'sum'",
    );
    expect(await logsOf(workflow_id)).toMatchObject([{ final: false }, { final: true }]);
  });

  it('takes its tools away for the second answer', async () => {
    const workflow_id = await summing({ agent: { builtin_tools: ['manage_todo_list'] } });
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.'), says('{"sum": 1}'));
    expect(await ended(workflow_id)).toMatchObject({ status: 'completed', response: { sum: 1 }, turns: 1, steps: 3 });
    const [first, second, third] = here.model.requests.slice(-3);
    expect([first?.tools?.length, second?.tools?.length, third?.tools]).toEqual([1, 1, undefined]);
    expect([second?.response_format, third?.response_format]).toEqual([
      undefined,
      expect.objectContaining({ type: 'json_schema' }),
    ]);
  });

  it('is forked at its second answer, which is then the last one', async () => {
    const workflow_id = await summing();
    here.model.script(says('It is 42.'), says('{"sum": 42}'), says('Still 42.'));
    const { id } = await ended(workflow_id);
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${id}/fork`, { from_step: 2, effects: 'recorded' }), 201);
    expect(await here.ended(fork.task_id)).toMatchObject({ status: 'failed', error_code: 'output_invalid' });
    expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toContain('does not fit the output schema');
  });
});
