import { afterAll, beforeAll, expect, it } from 'vitest';
import { MOST_COUNTED } from '../../src/domain/usage.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, says, sends } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

/** What is counted of one answer at most. */
const MOST = 100_000_000;
const STEPS = 25;
const usage = { prompt_tokens: MOST * 5, completion_tokens: MOST, total_tokens: MOST * 6 };

const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'manage_todo_list', arguments: '{"todoList":[]}' } };
const chunks = [{ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] }, { choices: [], usage }];
const expensive: Answer = sends(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);

it('a run continues beyond the tokens that it can count', async () => {
  const workflow_id = await here.workflow({
    agent: { builtin_tools: ['manage_todo_list'] },
    workflow: { max_turns: STEPS },
  });
  here.model.script(...Array.from({ length: STEPS - 1 }, () => expensive), says('Done.', { usage }));
  expect(MOST * STEPS).toBeGreaterThan(MOST_COUNTED);
  const counted = { total_in: MOST_COUNTED, total_out: MOST_COUNTED };
  const { id, status, usage: spent } = await here.ended(await here.prompt(workflow_id));
  expect({ status, spent }).toMatchObject({ status: 'completed', spent: counted });
  const [listed] = (await here.alice.get('/api/tasks?sort=tokens')).body as Record<string, any>[];
  expect(listed).toMatchObject({ id, usage: counted });
  await expect.poll(async () => (await here.alice.ok(here.alice.get('/api/usage'))).rows).toMatchObject([counted]);
  expect((await here.alice.ok(here.alice.get('/api/usage/models'))).rows).toMatchObject([
    // Summed up by step.
    { total_in: MOST * STEPS, total_out: MOST * STEPS },
  ]);
});
