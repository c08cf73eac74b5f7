import './chat.css';
import { Anchor, Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Pin } from 'lucide-react';
import { Link, useLocation, useNavigate, useParams } from 'react-router';
import { threads } from '../../contracts/threads.ts';
import { useRead } from '../api/queries.ts';
import { shortId } from '../runs/run-name.ts';
import { Copy } from '../ui/copy.tsx';
import { type KeepsFocus, Page } from '../ui/page.tsx';
import { Failure } from '../ui/states.tsx';
import { Conversation } from './conversation.tsx';
import { HomeChoice, useHome } from './home-choice.tsx';
import { useOutbox } from './outbox.ts';
import { ThreadDrawer, ThreadList } from './thread-list.tsx';
import { ThreadMenu } from './thread-menu.tsx';
import { useWaits } from './use-waits.ts';

/** The state of the navigation to a thread that a message has begun: its screen stays the one on which it was typed. */
interface Begun extends KeepsFocus {
  screen?: string;
}

/** All threads, and one of them, or the beginning of another. */
export default function Chat() {
  const { thread_id } = useParams();
  const { state, key } = useLocation();
  const screen = (state as Begun | null)?.screen ?? thread_id ?? key;
  return <Screen key={screen} screen={screen} thread_id={thread_id ?? null} />;
}

function Screen({ screen, thread_id }: { screen: string; thread_id: string | null }) {
  const navigate = useNavigate();
  const [drawer_opened, drawer] = useDisclosure();
  const [home, setHome] = useHome();
  const query = useRead(threads.get, { params: { id: thread_id ?? '' } }, { enabled: thread_id !== null });
  const thread = query.data;
  const onBegun = (id: string) =>
    void navigate(`/chat/${id}`, { replace: true, state: { screen, keeps_focus: true } satisfies Begun });
  const outbox = useOutbox({ thread_id, home, onBegun });
  const waits = useWaits(thread?.active_task_id ?? null);
  const title = thread ? (thread.title ?? 'Untitled') : thread_id ? 'Chat' : 'New conversation';
  return (
    <div className="chat">
      <ThreadList thread_id={thread_id} className="chat-side" />
      <ThreadDrawer thread_id={thread_id} opened={drawer_opened} close={drawer.close} />
      <Page
        title={title}
        tab={thread ? `${waits ? 'Waits for you: ' : ''}${title} · ${shortId(thread.id)}` : title}
        actions={
          <>
            <Button variant="default" className="chat-narrow" onClick={drawer.open}>
              Conversations
            </Button>
            <Button variant="default" component={Link} to="/chat" className="chat-narrow">
              New
            </Button>
            {thread && <Copy text={`${location.origin}${location.pathname}`} what="the link" label="Copy link" />}
            {thread && <ThreadMenu thread={thread} is_open />}
          </>
        }
      >
        {thread && (
          <Group gap="xs" className="note">
            {thread.pinned && <Pin size={13} aria-label="Pinned" />}
            {thread.agent_id && (
              <Anchor component={Link} to={`/agents/${thread.agent_id}`} size="sm" underline="always">
                {thread.agent_name}
              </Anchor>
            )}
          </Group>
        )}
        {thread_id === null && <HomeChoice home={home} onChange={setHome} />}
        {query.error && !thread ? (
          <Failure problem={query.error} retry={() => void query.refetch()} />
        ) : (
          <Conversation
            thread_id={thread_id}
            thread={thread}
            outbox={outbox}
            lacks={thread_id === null && home === null ? 'Choose an agent or a workflow first' : null}
          />
        )}
      </Page>
    </div>
  );
}
