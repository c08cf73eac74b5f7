import { Button, Group, Select } from '@mantine/core';
import { Link, useNavigate, useParams } from 'react-router';
import { chat } from '../../contracts/chat.ts';
import { useRead } from '../api/queries.ts';
import { Picker } from '../resources/pickers.tsx';
import { useNames } from '../resources/references.ts';
import { shortId } from '../runs/run-name.ts';
import { FormLink } from '../ui/form-link.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { Conversation, type Talk } from './conversation.tsx';

export default function Chat() {
  const { agent_id, session_id } = useParams();
  const navigate = useNavigate();
  const { options, loading, nameOf } = useNames('agent');
  const title = agent_id ? `Chat with ${nameOf(agent_id)}` : 'Chat';
  return (
    <Page
      title={title}
      tab={session_id ? `${title} · ${shortId(session_id)}` : title}
      actions={
        agent_id && (
          <Button variant="default" component={Link} to={`/chat/${agent_id}`}>
            New session
          </Button>
        )
      }
    >
      <Group align="end">
        <Picker
          kind="agent"
          label="Agent"
          placeholder="Choose an agent"
          value={agent_id ?? null}
          onChange={(id) => id && navigate(`/chat/${id}`)}
        />
        {agent_id && <Sessions agent_id={agent_id} session_id={session_id} />}
      </Group>
      {!agent_id && !loading && options.length === 0 && (
        <Empty
          action={
            <FormLink to="/agents/new" needs="write">
              New agent
            </FormLink>
          }
        >
          No agents yet. Create one to chat with it.
        </Empty>
      )}
      {!agent_id && options.length > 0 && <Empty>Choose an agent. A chat uses its persona and model, but no tools.</Empty>}
      {agent_id && <Session key={agent_id} agent_id={agent_id} session_id={session_id} />}
    </Page>
  );
}

function Sessions({ agent_id, session_id }: { agent_id: string; session_id: string | undefined }) {
  const navigate = useNavigate();
  const query = useRead(chat.sessions, { params: { agent_id }, query: { limit: 100 } });
  const sessions = query.data?.items ?? [];
  if (sessions.length === 0) return null;
  return (
    <Select
      label="Earlier sessions"
      placeholder="Choose a session"
      data={sessions.map(({ id, title }) => ({ value: id, label: title || 'untitled' }))}
      renderOption={({ option }) => (
        <span>
          {option.label}{' '}
          <span className="note">
            <When at={sessions.find(({ id }) => id === option.value)?.updated_at} />
          </span>
        </span>
      )}
      value={session_id ?? null}
      onChange={(id) => id && navigate(`/chat/${agent_id}/${id}`)}
      searchable
      style={{ minWidth: 'min(22rem, 100%)' }}
    />
  );
}

function Session({ agent_id, session_id }: { agent_id: string; session_id: string | undefined }) {
  const query = useRead(
    chat.session,
    { params: { agent_id, session_id: session_id ?? '' } },
    { enabled: session_id !== undefined },
  );
  const talk: Talk = query.data && session_id ? query.data : { messages: [], reply: null };
  return (
    <Conversation agent_id={agent_id} session_id={session_id ?? null} talk={talk}>
      {(said) =>
        session_id ? (
          <Loaded query={query} what="Loading the session">
            {() => said}
          </Loaded>
        ) : (
          said
        )
      }
    </Conversation>
  );
}
