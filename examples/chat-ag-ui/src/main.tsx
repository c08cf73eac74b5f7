import { AssistantRuntimeProvider } from '@assistant-ui/react';
import { useAgUiRuntime } from '@assistant-ui/react-ag-ui';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat } from './chat.tsx';
import { history, ThreadAgent } from './thread-agent.ts';

const root = createRoot(document.getElementById('root')!);

/** Opens the thread that this browser used last, or a new one. */
async function start() {
  const last = localStorage.getItem('thread');
  const answer = await fetch(`/session${last ? `?thread=${last}` : ''}`, { method: 'POST' });
  if (!answer.ok) throw new Error(await answer.text());
  const { thread, token, url } = await answer.json();
  localStorage.setItem('thread', thread);
  root.render(<Page agent={new ThreadAgent(url, token)} />);
}

function Page({ agent }: { agent: ThreadAgent }) {
  const [error, setError] = useState<Error | null>(null);
  // The types of the runtime are those of an earlier version of AG-UI.
  const runtime = useAgUiRuntime({ agent: agent as never, adapters: { history }, onError: setError });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Chat error={error} onStart={() => setError(null)} />
    </AssistantRuntimeProvider>
  );
}

start().catch((error: Error) => root.render(<p role="alert">{error.message}</p>));
