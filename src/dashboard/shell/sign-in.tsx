import { Alert, Button, Checkbox, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { tasks } from '../../contracts/tasks.ts';
import { type ApiProblem, clientOf } from '../api/call.ts';
import { useSession } from '../api/context.tsx';
import { sentence } from '../ui/states.tsx';

export function SignIn() {
  const { token, setToken, keep, setKeep, busy, error, submit } = useSignIn();
  useEffect(() => {
    document.title = 'Sign in · Perdura';
  }, []);
  return (
    <Stack component="main" align="center" justify="center" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={440}>
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            <Title order={1}>Sign in to Perdura</Title>
            <PasswordInput
              label="Access token"
              description="The token that you send to the API as a bearer token."
              autoComplete="current-password"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              data-autofocus
              autoFocus
            />
            <Checkbox
              label="Keep on this computer"
              description="Otherwise the token is removed when you close this tab."
              checked={keep}
              onChange={(event) => setKeep(event.currentTarget.checked)}
            />
            {error && (
              <Alert color="red" variant="outline" role="alert">
                {error}
              </Alert>
            )}
            <Button type="submit" size="sm" loading={busy}>
              Sign in
            </Button>
            <WhereTokensAre />
          </Stack>
        </form>
      </Paper>
    </Stack>
  );
}

function WhereTokensAre() {
  return (
    <Text size="xs" c="dimmed">
      After <Code>npm start</Code>, the token is in the file <Code>.perdura/local-token</Code>. Other installations accept a token
      of their identity provider, such as a GitHub access token.
    </Text>
  );
}

function useSignIn() {
  const { session } = useSession();
  const [token, setToken] = useState('');
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(
    session.wasRefused() ? 'Your access token is no longer valid. Sign in with another one.' : null,
  );
  async function submit(event: FormEvent) {
    event.preventDefault();
    const given = token.trim();
    if (!given) return setError('Enter an access token.');
    setBusy(true);
    const refusal = await signInRefusal(given);
    setBusy(false);
    setError(refusal);
    if (!refusal) session.signIn(given, keep);
  }
  return { token, setToken, keep, setKeep, busy, error, submit };
}

/** Why the service refuses a token; null if it accepts it. */
async function signInRefusal(token: string): Promise<string | null> {
  try {
    await clientOf({ token: () => token, refused: () => {} }).call(tasks.list, { query: { limit: 1 } });
    return null;
  } catch (error) {
    return (error as ApiProblem).status === 401 ? 'This access token is not valid.' : sentence((error as ApiProblem).message);
  }
}
