import { setTimeout as wait } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { RunEvent } from '../../contracts/events.ts';
import { SAMPLE, SAMPLE_INSTRUCTIONS, SAMPLE_TOOL } from '../../contracts/sample.ts';
import { chooseModel, getToday } from '../../domain/known-models.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { apiClient, type Call, findInstallation, type Json } from '../api-client.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { print, say } from '../terminal.ts';

/** `perdura demo`: makes a first run, as any client of the API would. */
export default async function runDemo(config: Config, args: string[] = []): Promise<void> {
  parseCommand('demo', args);
  const place = await findInstallation(config);
  const { token } = place;
  const call = apiClient(place.api_url, token);

  const tool = await findOrCreate(call, '/api/custom-tools', { name: SAMPLE.tool, source_code: SAMPLE_TOOL, effect: 'read' });
  say(`tool       ${tool.name}   schema ${JSON.stringify(tool.parameters_schema)}`);
  const provider = await prepareProvider(call, config, place.demo_model_url);
  say(`provider   ${provider.name}   model ${provider.default_model}`);
  const agent = await findOrCreate(call, '/api/agents', {
    name: provider.name === SAMPLE.provider ? SAMPLE.agent : `${SAMPLE.agent} (${provider.name})`,
    system_prompt: SAMPLE_INSTRUCTIONS,
    provider_id: provider.id,
    custom_tool_ids: [tool.id],
  });
  const workflow = await findOrCreateWorkflow(call, agent);
  say(`workflow   ${workflow.id}`);

  const task = await call('POST', `/api/workflows/${workflow.id}/prompt`, { prompt: SAMPLE.prompt });
  say(`prompt     ${SAMPLE.prompt}\ntask       ${task.task_id}\n`);
  await watch(`${place.api_url}${task.stream_url}`, token);
  const result = await call('GET', `/api/tasks/${task.task_id}`);
  say(`\nstatus     ${result.status}${result.error ? `: ${result.error}` : ''}\nresponse   ${JSON.stringify(result.response)}`);
  say(`usage      ${JSON.stringify(result.usage)}\nTemporal   ${result.engine_run_url}`);
  if (result.status !== 'completed') process.exitCode = 1;
}

/** Returns the resource with this name: the existing one, unchanged, or a new one. */
async function findOrCreate(call: Call, path: string, values: Json & { name: string }): Promise<Json> {
  const existing = await call<Json[]>('GET', `${path}?limit=1000&q=${encodeURIComponent(values.name)}`);
  return existing.find(({ name }) => name === values.name) ?? call('POST', path, values);
}

async function findOrCreateWorkflow(call: Call, agent: Json): Promise<Json> {
  const existing = await call<Json[]>('GET', `/api/workflows?limit=1000&agent_id=${agent.id}`);
  const usable = existing.find(({ status }) => status !== 'inactive');
  return usable ?? call('POST', '/api/workflows', { agent_id: agent.id, title: SAMPLE.workflow, output_format: 'markdown' });
}

export async function prepareProvider(
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
    return findOrCreate(call, '/api/providers', values);
  }
  await call('POST', '/api/tokens', { name: 'openai-key', value: OPENAI_API_KEY }).catch(() => {});
  const base_url = OPENAI_BASE_URL ?? null;
  const values = {
    name: 'openai',
    provider_type: 'openai',
    base_url,
    api_key_token_name: 'openai-key',
    default_model: OPENAI_MODEL ?? chooseModel('openai', getToday()),
  };
  const provider = await findOrCreate(call, '/api/providers', values);
  // The environment chooses the model of this run.
  return call('PUT', `/api/providers/${provider.id}`, values);
}

/** Prints the run's events as they arrive, and resumes the stream after a lost connection. */
async function watch(url: string, token: string): Promise<void> {
  let last = '0';
  for (let ended = false; !ended; await wait(ended ? 0 : 500)) {
    const stream = await fetch(url, { headers: { authorization: `Bearer ${token}`, 'last-event-id': last } });
    if (stream.status === 204) return;
    const events = stream.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { id = last, data } of events) {
      last = id;
      ended = show(JSON.parse(data)) || ended;
    }
  }
}

/** Prints an event; returns true if it ends the run. */
function show({ type, data }: RunEvent): boolean {
  if (type === 'message_delta') print(data.delta);
  else if (type === 'message')
    say(data.role === 'assistant' && data.content ? '' : `  ${data.role}: ${data.content || JSON.stringify(data.tool_calls)}`);
  else if (type === 'usage') say(`  usage: ${data.total_in} in, ${data.total_out} out`);
  else if (type === 'status') say(`  status: ${data.status}`);
  else say(`  ${data.event}: ${data.detail}`);
  return type === 'status' && isTerminal(data.status);
}
