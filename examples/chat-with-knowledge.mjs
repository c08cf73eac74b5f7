// A chat that answers from stored documents: the question is searched in the knowledge source first, and the passages go along.
import { api, ensure, frames, open, provider } from './perdura.mjs';

const source = await ensure('/api/knowledge-sources', { name: 'handbook (example)', source_type: 'builtin' });
const handbook = 'Travel: book trains in second class. Flights need the approval of your lead.';
const items = await api('GET', `/api/knowledge-items?source_id=${source.id}`);
if (items.length === 0)
  await api('POST', '/api/knowledge-items', { source_id: source.id, name: 'handbook.md', content: handbook });

const agent = await ensure('/api/agents', {
  name: 'handbook assistant (example)',
  system_prompt: 'Answer from the passages you are given and name the document. If they do not contain the answer, state that.',
  provider_id: (await provider()).id,
});

let session_id;
for (const question of ['Which class do we travel in?', 'And who approves flights?']) {
  const { items: passages } = await api('POST', '/api/knowledge-items/query', {
    query: question,
    source_ids: [source.id],
    limit: 3,
  });
  const cited = passages.map(({ name, content }) => `[${name}] ${content}`).join('\n');
  console.log(`\n> ${question}`);
  const reply = await open(`/api/agents/${agent.id}/chat`, {
    message: `${cited}\n\n${question}`,
    ...(session_id && { session_id }),
  });
  for await (const { data } of frames(reply.body)) {
    if (data.type === 'session') session_id = data.session_id;
    if (data.type === 'delta') process.stdout.write(data.content);
    if (data.type === 'error') throw new Error(data.message);
  }
}
console.log(`\n\nsession ${session_id}`);
