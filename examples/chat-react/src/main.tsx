import type { UIMessage } from 'ai';
import { createRoot } from 'react-dom/client';
import { Chat } from './chat.tsx';

const root = createRoot(document.getElementById('root')!);

/** Opens the thread that this browser used last, or a new one. */
async function start() {
  const last = localStorage.getItem('thread');
  const answer = await fetch(`/session${last ? `?thread=${last}` : ''}`, { method: 'POST' });
  if (!answer.ok) throw new Error(await answer.text());
  const { thread, token, url } = await answer.json();
  localStorage.setItem('thread', thread);
  const headers = { authorization: `Bearer ${token}` };
  const history = await fetch(`${url}/ui/messages`, { headers });
  root.render(<Chat url={url} headers={headers} history={(await history.json()) as UIMessage[]} />);
}

start().catch((error: Error) => root.render(<p role="alert">{error.message}</p>));
