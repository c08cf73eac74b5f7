import type { TestInstallation } from '../installation.ts';
import { says } from '../peers/model-server.ts';
import { openEvaluations } from '../runs/evaluations.ts';

/** Creates a record of every kind, as Alice. Returns the screens that show them, and those with a form for another one. */
export async function makeOneOfEach(here: TestInstallation): Promise<{ screens: string[]; forms: string[] }> {
  const screens: string[] = [];
  const forms: string[] = [];
  const { alice } = here;
  const make = async (path: string, body: object) => (await alice.ok(alice.post(`/api/${path}`, body))).id as string;
  const add = async (path: string, body: object) => {
    const id = await make(path, body);
    screens.push(`/${path}`, `/${path}/${id}`);
    forms.push(`/${path}/new`);
    return id;
  };
  const provider_id = await add('providers', { name: 'scripted', provider_type: 'openai_compatible', base_url: here.model.url });
  await add('tokens', { name: 'key', value: 'a secret value' });
  const tool = { name: 'add', source_code: 'ENV = {"KEY": "a key"}\n\ndef add(a: int, b: int) -> int:\n    return a + b\n' };
  const tool_id = await add('custom-tools', tool);
  await add('skills', { name: 'politeness', instructions: 'Be polite.' });
  await add('guardrails', { name: 'short', guardrail_type: 'prompt', config: { max_length: 50 } });
  await add('mcps', { name: 'files', transport_type: 'http', connection_config: { url: `${here.model.url}/mcp` } });
  const source_id = await add('knowledge-sources', { name: 'handbook' });
  await add('knowledge-items', { source_id, name: 'policy', content: 'Second class.' });
  const agent_id = await add('agents', { name: 'clerk', provider_id, model: 'scripted', custom_tool_ids: [tool_id] });
  await add('memories', { agent_id, key: 'colour', value: 'green' });
  const workflow_id = await add('workflows', { agent_id, title: 'Office', output_format: 'markdown' });
  await add('scheduled-agents', { name: 'daily', workflow_id, prompt: 'Go.', interval_value: 1, interval_unit: 'days' });
  await add('keys', { name: 'of a program', role: 'viewer' });
  await add('budgets', { name: 'my day', scope: 'person', period: 'day', limit_tokens: 1_000_003 });
  await add('alerts', { name: 'many fail', measure: 'failure_rate', threshold: 20 });
  const dataset_id = await add('datasets', { name: 'questions' });
  screens.push(`/datasets/${dataset_id}?tab=evaluations`, `/datasets/${dataset_id}?tab=settings`);
  here.model.script(says('Hello.'));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  screens.push(`/tasks/${task_id}`, `/workflows/${workflow_id}?tab=settings`, `/workflows/${workflow_id}?tab=history`);
  screens.push(
    `/tasks/${task_id}?view=steps&step=1`,
    `/tasks/${task_id}/playground?step=1`,
    `/workflows/${workflow_id}?tab=versions`,
  );
  screens.push(`/runs/compare?ids=${task_id},${task_id}`);
  here.model.always(says('Hello.'));
  const thread_id = await make('threads', { agent_id, title: 'Late orders' });
  const { task_id: turn_id } = await alice.ok(alice.post(`/api/threads/${thread_id}/messages`, { message: 'Hello' }));
  await here.ended(turn_id);
  screens.push(`/chat/${thread_id}`, `/chat/${agent_id}/${thread_id}`, `/agents/${agent_id}/chat`);
  const evals = openEvaluations(here);
  const path = await evals.begin(await evals.dataset({ Hi: 'Hello.' }), { workflow_id });
  await evals.ended(path);
  screens.push(path.replace('/api', ''));
  return { screens, forms };
}
