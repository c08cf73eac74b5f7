import { Alert, Button, Checkbox, Code, Divider, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useSession } from '../api/context.tsx';
import type { Session } from '../api/session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { BrandMark } from '../ui/mark.tsx';
import { checkToken } from './check-token.ts';

/** The page of a browser in which nobody has signed in. */
export function SignIn() {
  useEffect(() => {
    document.title = 'Sign in · Perdura';
  }, []);
  return (
    <Stack component="main" align="center" justify="center" mih="100vh" p="md">
      <Paper withBorder radius="var(--radius-l)" p="xl" w="100%" maw={440}>
        <Stack>
          <BrandMark size={36} />
          <Title order={1}>Sign in to Perdura</Title>
          <SignInForm />
        </Stack>
      </Paper>
    </Stack>
  );
}

/** Asks for another sign-in above the screen of a person whose sign-in has ended. The screen keeps what was typed. */
export function SignInAgain() {
  const { signed_in } = useSession();
  return (
    <Dialog opened={!signed_in} title="Sign in again">
      <Stack>
        <Text>What you typed stays on the screen. What you sent last is sent again after you sign in as the same person.</Text>
        <SignInForm />
      </Stack>
    </Dialog>
  );
}

function SignInForm() {
  const { token, setToken, keep, setKeep, busy, error, submit } = useSignIn();
  const { issuer } = useSession().session.issuer;
  const has_issuer = issuer !== null;
  const problem = findProblem(issuer);
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        {problem && (
          <Alert color="red" variant="outline" role="alert">
            {problem}
          </Alert>
        )}
        <AtIssuer />
        <PasswordInput
          label="Access token"
          description="The token that you send to the API as a bearer token."
          autoComplete="current-password"
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          data-autofocus
          autoFocus={!has_issuer}
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
        <Button type="submit" size="sm" loading={busy} variant={has_issuer ? 'default' : 'filled'}>
          Sign in
        </Button>
        <WhereTokensAre />
      </Stack>
    </form>
  );
}

/** Links to the issuer. It is a link and not a form, because the browser leaves this site. */
function AtIssuer() {
  const { issuer, login_url } = useSession().session.issuer;
  if (!issuer || !login_url) return null;
  return (
    <>
      <Button component="a" href={`${login_url}?${new URLSearchParams({ return_to: getReturnPage() })}`} size="sm">
        Sign in with {issuer}
      </Button>
      <Divider label="or with an access token" />
    </>
  );
}

/** The parameter of the URL after a sign-in that failed. */
const PROBLEM = 'sign_in';

function getReturnPage(): string {
  const search = new URLSearchParams(location.search);
  search.delete(PROBLEM);
  return search.size > 0 ? `${location.pathname}?${search}` : location.pathname;
}

/** Returns the reason why the sign-in at the issuer failed. */
function findProblem(issuer: string | null): string | null {
  switch (new URLSearchParams(location.search).get(PROBLEM)) {
    case 'expired':
      return 'The sign-in took too long or was started in another window. Start it again.';
    case 'denied':
      return `${issuer} did not let you sign in.`;
    case 'unreachable':
      return `${issuer} cannot be reached. Try again shortly, or use an access token.`;
    case 'refused':
      return `The sign-in with ${issuer} failed. Start it again; if it fails again, the log of the service has the reason.`;
    default:
      return null;
  }
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
  const [error, setError] = useState(refusalOfLast(session.refusedLast()));
  async function submit(event: FormEvent) {
    event.preventDefault();
    const access_token = token.trim();
    setBusy(true);
    const checked = await checkToken(access_token);
    setBusy(false);
    if ('refusal' in checked) return setError(checked.refusal);
    session.signIn(access_token, keep, checked.person);
  }
  return { token, setToken, keep, setKeep, busy, error, submit };
}

function refusalOfLast(ended: ReturnType<Session['refusedLast']>): string | null {
  if (ended === 'cookie') return 'Your sign-in has ended. Sign in again.';
  return ended === 'token' ? 'Your access token is no longer valid. Sign in with another one.' : null;
}
