import type { Client } from '../client.ts';
import type { TestInstallation } from '../installation.ts';
import { hangs } from '../peers/model-server.ts';
import { until } from '../until.ts';

/** What a session holds after its reply was stopped behind `A beginning`. */
export const STOPPED = [
  { role: 'user', content: 'Talk.' },
  { role: 'assistant', content: 'A beginning' },
];

export const chatPath = (agent_id: string) => `/api/agents/${agent_id}/chat`;

/** Creates an agent of Alice that answers with the scripted model; returns its id. */
export async function createChatAgent({ alice, model }: TestInstallation): Promise<string> {
  const values = { name: 'scripted', provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted' };
  const { id: provider_id } = await alice.ok(alice.post('/api/providers', values));
  return (await alice.ok(alice.post('/api/agents', { name: 'Ada', provider_id }))).id;
}

/** Sends a message whose reply hangs after `usage`, if it is reported, and `said`; answers with its session, and what the stream holds when it has ended. */
export async function startHangingReply(
  { model }: TestInstallation,
  { agent_id, said, usage, client, token }: { agent_id: string; said: string; usage?: object; client: Client; token: string },
) {
  const asked = model.requests.length;
  model.script(hangs(said, usage ? { usage } : {}));
  const answer = await fetch(`${client.url}${chatPath(agent_id)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'Talk.' }),
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(said || 'session_id')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The reply ended early: ${answer.status} ${text}`);
    text += value;
  }
  // A reply that is stopped earlier would leave its answer to the next test.
  await until('the model is asked', async () => model.requests.length > asked);
  const stop = `${chatPath(agent_id)}/sessions/${/"session_id":"([^"]+)"/.exec(text)![1]}/stop`;
  const whole = async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    return [...text.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);
  };
  return { stop, whole, stored: () => client.ok(client.get(stop.replace('/stop', ''))) };
}
