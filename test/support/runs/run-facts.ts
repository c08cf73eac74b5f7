import type { TestInstallation } from '../installation.ts';
import { until } from '../until.ts';

/** Returns the agent of a workflow and its only tool. */
export async function toolOf({ alice }: TestInstallation, workflow_id: string) {
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await alice.ok(alice.get(`/api/agents/${agent_id}`));
  const tool = await alice.ok(alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  return { agent_id, tool_id: tool.id as string, name: tool.name as string };
}

export const reaches = (
  { alice }: TestInstallation,
  task_id: string,
  { status, timeout_ms }: { status: string; timeout_ms?: number },
) =>
  until(`the task is ${status}`, async () => (await alice.ok(alice.get(`/api/tasks/${task_id}`))).status === status, timeout_ms);

/** Returns the results of tools in the transcript. */
export const resultsOf = async ({ alice }: TestInstallation, workflow_id: string) =>
  (await alice.ok(alice.get(`/api/workflows/${workflow_id}`))).messages
    .filter(({ role }: { role: string }) => role === 'tool')
    .map(({ content }: { content: string }) => content);
