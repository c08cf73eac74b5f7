// An agent that may write files only after a person has approved each call. Here the script is that person.
import { api, ensure, print, provider, report, run } from './perdura.mjs';

const agent = await ensure('/api/agents', {
  name: 'careful writer (example)',
  system_prompt: 'Write what you are asked for into a file.',
  provider_id: (await provider()).id,
  builtin_tools: ['write', 'read'],
  approval_tools: ['write'],
});
const workflow = await api('POST', '/api/workflows', { agent_id: agent.id, title: 'Careful writer', output_format: 'markdown' });

report(
  await run(workflow.id, 'Use write to put "Perdura keeps its promises." into "notes.md".', async (event, task_id) => {
    print(event);
    if (event.type !== 'log' || event.data.event !== 'approval_requested') return;
    console.log(`  approving ${event.data.name} with ${event.data.arguments}`);
    await api('POST', `/api/tasks/${task_id}/approvals/${event.data.call_id}`, { decision: 'approve' });
  }),
);
