import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { SAMPLE, SAMPLE_INSTRUCTIONS, SAMPLE_TOOL } from '../../contracts/sample.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Config } from '../config.ts';

/** The file in which a running installation writes its address. */
const Place = z.object({
  api_url: z.string(),
  token_file: z.string(),
  temporal_ui_url: z.string().nullable(),
  demo_model_url: z.string(),
});

type Json = Record<string, unknown>;
type Call = (method: string, path: string, body?: Json) => Promise<Json>;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** A first run, as a client of the API would make it. */
export default async function runDemo(config: Config): Promise<void> {
  const place = await findInstallation(config);
  const token = (await readFile(place.token_file, 'utf8')).trim();
  const call = client(place.api_url, token);

  const tool = await named(call, '/api/custom-tools', { name: SAMPLE.tool, source_code: SAMPLE_TOOL, effect: 'read' });
  say(`tool       ${tool.name}   schema ${JSON.stringify(tool.parameters_schema)}`);
  const provider = await providerFor(call, config, place.demo_model_url);
  say(`provider   ${provider.name}   model ${provider.default_model}`);
  const agent = await named(call, '/api/agents', {
    name: provider.name === SAMPLE.provider ? SAMPLE.agent : `${SAMPLE.agent} (${provider.name})`,
    system_prompt: SAMPLE_INSTRUCTIONS,
    provider_id: provider.id,
    custom_tool_ids: [tool.id],
  });
  const workflow = await workflowOf(call, agent);
  say(`workflow   ${workflow.id}`);

  const task = await call('POST', `/api/workflows/${workflow.id}/prompt`, { prompt: SAMPLE.prompt });
  say(`prompt     ${SAMPLE.prompt}\ntask       ${task.task_id}\n`);
  await watch(`${place.api_url}${task.stream_url}`, token);
  const result = await call('GET', `/api/tasks/${task.task_id}`);
  say(`\nstatus     ${result.status}${result.error ? `: ${result.error}` : ''}\nresponse   ${JSON.stringify(result.response)}`);
  say(`usage      ${JSON.stringify(result.usage)}\nTemporal   ${result.engine_run_url}`);
  if (result.status !== 'completed') process.exitCode = 1;
}

async function findInstallation({ PERDURA_HOME, PERDURA_READY_FILE }: Config) {
  const file = PERDURA_READY_FILE ?? join(PERDURA_HOME, 'ready.json');
  try {
    return Place.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    throw new Error('No running installation found here; run `npm start` in another terminal first');
  }
}

function client(api_url: string, token: string): Call {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api_url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    const reply = (await answer.json()) as Json;
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${reply.detail}`);
    for (const { message } of (reply.warnings ?? []) as unknown as { message: string }[]) console.log(`  (${message})`);
    return reply;
  };
}

/** The resource with this name: the existing one, unchanged, or a new one. */
async function named(call: Call, path: string, values: Json & { name: string }): Promise<Json> {
  const known = (await call('GET', `${path}?limit=1000&q=${encodeURIComponent(values.name)}`)) as unknown as Json[];
  return known.find(({ name }) => name === values.name) ?? call('POST', path, values);
}

async function workflowOf(call: Call, agent: Json): Promise<Json> {
  const known = (await call('GET', `/api/workflows?limit=1000&agent_id=${agent.id}`)) as unknown as Json[];
  const usable = known.find(({ status }) => status !== 'inactive');
  return usable ?? call('POST', '/api/workflows', { agent_id: agent.id, title: SAMPLE.workflow, output_format: 'markdown' });
}

async function providerFor(
  call: Call,
  { OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL }: Config,
  demo_model_url: string,
): Promise<Json> {
  if (!OPENAI_API_KEY) {
    const values = {
      name: SAMPLE.provider,
      provider_type: 'openai_compatible',
      base_url: demo_model_url,
      default_model: SAMPLE.model,
    };
    return named(call, '/api/providers', values);
  }
  await call('POST', '/api/tokens', { name: 'openai-key', value: OPENAI_API_KEY }).catch(() => {});
  const base_url = OPENAI_BASE_URL ?? null;
  const values = {
    name: 'openai',
    provider_type: 'openai',
    base_url,
    api_key_token_name: 'openai-key',
    default_model: OPENAI_MODEL,
  };
  const provider = await named(call, '/api/providers', values);
  // The environment selects the model for this run.
  return call('PUT', `/api/providers/${provider.id}`, values);
}

/** Prints the run's events as they arrive, and resumes the stream after a lost connection. */
async function watch(url: string, token: string): Promise<void> {
  let last = '0';
  for (let ended = false; !ended; await wait(ended ? 0 : 500)) {
    const stream = await fetch(url, { headers: { authorization: `Bearer ${token}`, 'last-event-id': last } });
    const events = stream.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { id = last, data } of events) {
      last = id;
      ended = show(JSON.parse(data)) || ended;
    }
  }
}

/** Whether the event ends the run. */
function show({ type, data }: { type: string; data: Json }): boolean {
  if (type === 'message_delta') process.stdout.write(String(data.delta));
  else if (type === 'message')
    say(data.role === 'assistant' && data.content ? '' : `  ${data.role}: ${data.content || JSON.stringify(data.tool_calls)}`);
  else if (type === 'usage') say(`  usage: ${data.total_in} in, ${data.total_out} out`);
  else if (type === 'status') say(`  status: ${data.status}`);
  else say(`  ${data.event}: ${data.detail}`);
  return type === 'status' && isTerminal(data.status);
}
