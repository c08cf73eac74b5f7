// What the examples share: a client of the API in plain JavaScript, without packages.
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const HOME = process.env.PERDURA_HOME ?? '.perdura';
const ready = existsSync(`${HOME}/ready.json`) ? JSON.parse(readFileSync(`${HOME}/ready.json`, 'utf8')) : {};
const url = process.env.PERDURA_URL ?? ready.api_url;
const token = process.env.PERDURA_TOKEN ?? (ready.token_file && readFileSync(ready.token_file, 'utf8').trim());
if (!url || !token) throw new Error('Start Perdura with `npm start`, or set PERDURA_URL and PERDURA_TOKEN.');
const authorization = `Bearer ${token}`;

/** Calls the API. Throws an error with the detail of the problem if the API refuses. */
export async function api(method, path, body) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const reply = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${reply.detail}`);
  return reply;
}

/** Updates the resource of this name, or creates it, so that an example can run again. */
export async function ensure(path, values) {
  const found = await api('GET', `${path}?q=${encodeURIComponent(values.name)}`);
  const same = found.find(({ name }) => name === values.name);
  return same ? api('PUT', `${path}/${same.id}`, values) : api('POST', path, values);
}

/** The provider to use: the one that PERDURA_PROVIDER names, OpenAI with OPENAI_API_KEY, or the demo model. */
export async function provider() {
  const { PERDURA_PROVIDER, OPENAI_API_KEY, OPENAI_MODEL } = process.env;
  if (PERDURA_PROVIDER) {
    const found = (await api('GET', '/api/providers')).find(({ name }) => name === PERDURA_PROVIDER);
    if (!found) throw new Error(`There is no provider named ${PERDURA_PROVIDER}.`);
    return found;
  }
  if (OPENAI_API_KEY) {
    await ensure('/api/tokens', { name: 'openai-key', value: OPENAI_API_KEY });
    // A living model that calls tools: the installation chooses it.
    const openai = (await api('GET', '/api/providers/presets')).find(({ id }) => id === 'openai');
    const default_model = OPENAI_MODEL ?? openai.model_example;
    const values = { provider_type: 'openai', api_key_token_name: 'openai-key', default_model };
    return ensure('/api/providers', { name: 'openai (examples)', ...values });
  }
  const base_url = process.env.DEMO_MODEL_URL ?? ready.demo_model_url;
  const values = { provider_type: 'openai_compatible', base_url, default_model: 'perdura-demo' };
  return ensure('/api/providers', { name: 'demo model (examples)', ...values });
}

/** Starts a run and follows its events; resumes after the last number it has seen. Returns the task. */
export async function run(workflow_id, prompt, onEvent = print) {
  const { task_id, stream_url } = await api('POST', `/api/workflows/${workflow_id}/prompt`, { prompt });
  for await (const event of events(stream_url)) await onEvent(event, task_id);
  return api('GET', `/api/tasks/${task_id}`);
}

async function* events(path) {
  for (let last = '0', ended = false; !ended; ended || (await wait(500))) {
    const stream = await fetch(`${url}${path}`, { headers: { authorization, 'last-event-id': last } });
    if (!stream.ok) throw new Error(`GET ${path}: ${stream.status} ${(await stream.json()).detail}`);
    for await (const { id, data } of frames(stream.body)) {
      last = id;
      yield data;
      ended = data.type === 'status' && ['completed', 'failed', 'halted'].includes(data.data.status);
    }
  }
}

/** The frames of a stream of server-sent events. */
export async function* frames(body) {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).split('\n\n');
    text = parts.pop();
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data) yield { id: /^id: (.*)$/m.exec(part)?.[1], data: JSON.parse(data) };
    }
  }
}

export function print({ type, data }) {
  if (type === 'log') console.log(`  ${data.event}: ${data.detail}`);
  if (type === 'status') console.log(`  status: ${data.status}`);
}

/** The raw answer of a request whose reply is a stream. */
export const open = (path, body) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Prints the outcome of a run, and fails the script if the run failed. */
export function report(task) {
  console.log(`\n${task.status}: ${task.error ?? JSON.stringify(task.response)}\n${task.engine_run_url ?? ''}`);
  if (task.status !== 'completed') process.exitCode = 1;
}
