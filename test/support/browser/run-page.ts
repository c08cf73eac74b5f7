import type { Page } from 'playwright-core';
import type { TestInstallation } from '../installation.ts';
import { asks, fails, says } from '../peers/model-server.ts';

export const rows = (page: Page) => page.getByRole('listbox', { name: 'Steps of the run' });
export const row = (page: Page, name: RegExp) => rows(page).getByRole('option', { name });
export const searchOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);
export const panel = (page: Page, title: string | RegExp) => page.getByRole('region', { name: title });

export const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n';

export async function toolNameOf(here: TestInstallation, workflow_id: string): Promise<string> {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  return (await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`))).name;
}

/** Makes a run with a retry, a call and two steps. */
export async function summed(here: TestInstallation) {
  const workflow_id = await here.workflow({ tools: [ADD], workflow: { title: 'Sums' } });
  const name = await toolNameOf(here, workflow_id);
  here.model.script(fails(503), asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'));
  const task_id = await here.prompt(workflow_id, 'What is 17 + 25?');
  await here.ended(task_id);
  return { workflow_id, task_id, name };
}
