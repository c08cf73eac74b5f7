import { Alert, Stack } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { mcps } from '../../contracts/mcps.ts';
import { useAct } from '../api/queries.ts';
import { Page } from '../ui/page.tsx';
import { Failure, Loading } from '../ui/states.tsx';

/** Finishes a sign-in at an MCP server with the parameters with which its authorization server sent the browser back. */
export default function McpSignIn() {
  const { mutate, error } = useAct(mcps.finishSignIn);
  const [answer] = useState(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  const navigate = useNavigate();
  const is_started = useRef(false);
  const { server_id, state, code, iss, error: refused, error_description: reason = refused } = answer;
  const is_complete = server_id && state && code;
  useEffect(() => {
    if (is_started.current) return;
    is_started.current = true;
    // The code is used once, and must not stay in the browser's history.
    history.replaceState(history.state, '', location.pathname);
    if (!server_id || !state || !code) return;
    mutate(
      { body: { server_id, state, code, iss } },
      { onSuccess: () => void navigate(`/mcps/${server_id}`, { replace: true }) },
    );
  }, [server_id, state, code, iss, mutate, navigate]);
  return (
    <Page title="Signing in to an MCP server" parent={{ to: '/mcps', title: 'MCP servers' }}>
      <Stack>
        <Failure problem={error} />
        {!error && is_complete && <Loading what="Finishing the sign-in" />}
        {!is_complete && (
          <Alert color="red" variant="outline" role="alert">
            The server did not sign you in{reason ? `: ${reason}` : ''}. Open the server and choose Sign in to try again.
          </Alert>
        )}
      </Stack>
    </Page>
  );
}
