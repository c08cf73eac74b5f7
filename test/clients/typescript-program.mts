// What a user of @perdura/client writes: it starts a run, follows it, and prints one line for each event.
import { createClient, PerduraError } from '@perdura/client';

const [url, token, workflow_id] = process.argv.slice(2) as [string, string, string];
const perdura = createClient({ url, token });
const { task_id } = await perdura.runs.start(workflow_id, 'Count to three.');
let text = '';
for await (const event of perdura.tasks.events(task_id)) {
  if (event.type === 'message_delta') text += event.data.delta;
  if (event.type === 'log' && event.data.event === 'attempt_reset') text = '';
  console.log(JSON.stringify(event));
}
const { status, response } = await perdura.tasks.wait(task_id);
const names: string[] = [];
for await (const { name } of perdura.items('GET /api/agents', { query: { limit: 1 } })) names.push(name);
const refused = await perdura.tasks.get('unknown').catch((error: unknown) => error);
const { code, status: refusal, request_id } = refused as PerduraError;
console.log(
  JSON.stringify({
    status,
    response,
    text,
    names,
    refused: [refused instanceof PerduraError, code, refusal, request_id !== null],
  }),
);
