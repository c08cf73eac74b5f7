// A report that runs every morning and is sent to a webhook. The example triggers it once and receives it on this machine.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { api, ensure, provider } from './perdura.mjs';

let deliver;
const delivered = new Promise((done) => {
  deliver = done;
});
const receiver = createServer(async (request, response) => {
  deliver({ headers: request.headers, body: await json(request) });
  response.end();
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');

const agent = await ensure('/api/agents', {
  name: 'reporter (example)',
  system_prompt: 'Write a short report for the team.',
  provider_id: (await provider()).id,
});
const workflow = await api('POST', '/api/workflows', {
  agent_id: agent.id,
  title: 'Morning report',
  output_format: 'markdown',
  webhook_url: process.env.WEBHOOK_URL ?? `http://127.0.0.1:${receiver.address().port}/report`,
});
const schedule = await api('POST', '/api/scheduled-agents', {
  name: `morning report ${workflow.id}`,
  workflow_id: workflow.id,
  prompt: 'Report what changed since yesterday.',
  interval_value: 1,
  interval_unit: 'days',
  start_at: new Date(Date.now() + 86_400_000).toISOString(),
  end_at: null,
});
console.log(`next run at ${schedule.next_run_at}; triggering one now`);
await api('POST', `/api/scheduled-agents/${schedule.id}/trigger`);
if (!process.env.WEBHOOK_URL) {
  const { headers, body } = await delivered;
  console.log(`webhook ${headers['webhook-id']}: ${body.status}\n${body.response}`);
}
// The example leaves no schedule behind.
await api('DELETE', `/api/scheduled-agents/${schedule.id}`);
receiver.close();
receiver.closeAllConnections();
