import { Button, Drawer, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Pin, Plus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { type Thread, threads } from '../../contracts/threads.ts';
import { useList } from '../api/queries.ts';
import { SearchField } from '../ui/filter-bar.tsx';
import { useLayer } from '../ui/layers.ts';
import { Status } from '../ui/show.tsx';
import { Failure, Loading } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { nameThread, ThreadMenu } from './thread-menu.tsx';
import { useSeen } from './use-seen.ts';
import { useWaits } from './use-waits.ts';

const AT_ONCE = 30;
const MOST_PINNED = 100;
const TYPING_MS = 250;

interface ListProps {
  /** The thread that the screen shows. */
  thread_id: string | null;
  className?: string;
}

/** The threads of the person who looks: pinned ones first, then the newest. */
export function ThreadList({ thread_id, className = '' }: ListProps) {
  const [search, setSearch] = useState('');
  const [q] = useDebouncedValue(search.trim(), TYPING_MS);
  const filter = q ? { q } : {};
  const pinned = useList(threads.list, { ...filter, pinned: true, limit: MOST_PINNED });
  const others = useList(threads.list, { ...filter, pinned: false, limit: AT_ONCE });
  const { items, error, hasNextPage, isFetchingNextPage, fetchNextPage } = others;
  const first = pinned.items ?? [];
  const none = items?.length === 0 && first.length === 0;
  return (
    <nav aria-label="Conversations" className={`chat-list ${className}`}>
      <Button component={Link} to="/chat" variant="default" leftSection={<Plus size={14} aria-hidden />}>
        New conversation
      </Button>
      <SearchField placeholder="Search titles" value={search} onChange={setSearch} />
      <Failure problem={error} retry={() => void others.refetch()} />
      {!items && !error && <Loading what="Loading conversations" />}
      {none && <Text c="dimmed">{q ? 'No title has these words.' : 'No conversations yet.'}</Text>}
      <ul>
        {[...first, ...(items ?? [])].map((thread) => (
          <Entry key={thread.id} thread={thread} is_open={thread.id === thread_id} />
        ))}
      </ul>
      {hasNextPage && <More key={items?.length} loading={isFetchingNextPage} read={() => void fetchNextPage()} />}
    </nav>
  );
}

function Entry({ thread, is_open }: { thread: Thread; is_open: boolean }) {
  const { id, pinned, active_task_id, updated_at } = thread;
  const waits = useWaits(active_task_id);
  return (
    <li data-open={is_open}>
      <NavLink to={`/chat/${id}`} className="chat-entry">
        <span className="chat-entry-title" dir="auto">
          {pinned && <Pin size={12} aria-label="Pinned:" />} {nameThread(thread)}
        </span>
        <span className="note">
          {waits ? (
            <Status of="waiting">waits for you</Status>
          ) : active_task_id === null ? (
            <When at={updated_at} />
          ) : (
            <Status of="running">in progress</Status>
          )}
        </span>
      </NavLink>
      <ThreadMenu thread={thread} is_open={is_open} in_list />
    </li>
  );
}

/** Reads more as the reader comes near the end. */
function More({ loading, read }: { loading: boolean; read(): void }) {
  const [element, seen] = useSeen<HTMLDivElement>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it comes into sight
  useEffect(() => {
    if (seen) read();
  }, [seen]);
  return (
    <div ref={element}>
      <Button variant="default" loading={loading} data-needs="read" onClick={read}>
        Show more
      </Button>
    </div>
  );
}

/** The list on a narrow screen. It closes when a thread is chosen. */
export function ThreadDrawer({ thread_id, opened, close }: ListProps & { opened: boolean; close(): void }) {
  const { key } = useLocation();
  useLayer(opened, close);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a choice leads elsewhere
  useEffect(close, [key]);
  return (
    <Drawer.Root opened={opened} onClose={close} closeOnEscape={false} size="20rem">
      <Drawer.Overlay />
      <Drawer.Content>
        <Drawer.Header role="none">
          <Drawer.Title>Conversations</Drawer.Title>
          <Drawer.CloseButton aria-label="Close" />
        </Drawer.Header>
        <Drawer.Body>{opened && <ThreadList thread_id={thread_id} />}</Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
