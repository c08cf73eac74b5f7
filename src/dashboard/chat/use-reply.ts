import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { chat } from '../../contracts/chat.ts';
import { requestUrl } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { readReply } from './replies.ts';

interface Place {
  agent_id: string;
  session_id: string | null;
}

interface Reply {
  question_id: string;
  content: string;
}

/**
 * Follows the reply in progress, if there is one, and reads the session again when it has ended. Returns its text so far; null:
 * no reply is in progress.
 */
export function useReply({ agent_id, session_id }: Place, reply: Reply | null): string | null {
  const client = useClient();
  const queries = useQueryClient();
  const question_id = reply?.question_id ?? null;
  const [followed, setFollowed] = useState<Reply | null>(null);
  useEffect(() => {
    if (session_id === null || question_id === null) return;
    const leaving = new AbortController();
    const url = requestUrl(chat.stream, { params: { agent_id, session_id }, query: { question_id } });
    let content = '';
    const add = (more: string) => {
      content += more;
      setFollowed({ question_id, content });
    };
    const readSession = () => {
      if (!leaving.signal.aborted) void queries.invalidateQueries();
    };
    void readReply(client, url, { add, signal: leaving.signal }).then(readSession, readSession);
    return () => leaving.abort();
  }, [agent_id, session_id, question_id, client, queries]);
  if (!reply) return null;
  return followed?.question_id === reply.question_id ? followed.content : reply.content;
}
