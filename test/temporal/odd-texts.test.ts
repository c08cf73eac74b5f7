import { afterAll, beforeAll, expect, it } from 'vitest';
import { builtinSpecs } from '../../src/tools/builtin/index.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(() => here.stop());

/** Postgres stores neither a null character nor half of a character. */
const ODD = 'a\u0000b\ud800c';

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** A value that fits a schema, in which each text is odd. */
function oddly({ type, enum: choices, properties = {}, items = {} }: Schema): unknown {
  if (choices) return choices[0];
  if (type === 'object') return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, oddly(schema)]));
  if (type === 'array') return [oddly(items)];
  if (type === 'string') return ODD;
  return type === 'boolean' ? false : 1;
}

it.each(builtinSpecs({ search_url: null }).map(({ name, parameters }) => [name, parameters as Schema] as const))(
  'texts that cannot be stored do not fail a run that calls %s',
  async (name, parameters) => {
    here.model.script(asks({ name, args: oddly(parameters) as object }), says('Done.'));
    const task_id = await here.prompt(await here.workflow({ agent: { builtin_tools: [name] } }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
    const steps = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as { tool_calls: object[] }[];
    expect(steps[0]?.tool_calls).toMatchObject([{ name, status: 'done', attempts: 1 }]);
  },
);

it('a JSON answer that spells such texts is the response of its run', async () => {
  here.model.script(says(JSON.stringify({ [ODD]: [ODD] })));
  const task_id = await here.prompt(await here.workflow({ workflow: { output_format: 'json' } }));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: { 'a\ufffdb\ufffdc': ['a\ufffdb\ufffdc'] } });
});

it('a fact that spells such texts is remembered', async () => {
  here.model.script(says('Done.'), says(JSON.stringify({ facts: [{ key: ODD, value: ODD }] })));
  const workflow_id = await here.workflow({ workflow: { auto_memory: true } });
  expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Done.' });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const found = await here.alice.ok(here.alice.get(`/api/memories?agent_id=${agent_id}`));
  expect(found).toMatchObject([{ key: 'a\ufffdb\ufffdc', value: 'a\ufffdb\ufffdc' }]);
});
