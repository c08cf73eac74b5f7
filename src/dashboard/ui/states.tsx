import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/call.ts';
import { sentence } from './sentence.ts';

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <Stack gap="xs" role="status" aria-label={`${what} …`}>
      <Skeleton height={14} width="60%" />
      <Skeleton height={14} width="85%" />
      <Skeleton height={14} width="40%" />
    </Stack>
  );
}

interface EmptyProps {
  /** One sentence, if a list only happens to be empty, as with these filters. */
  children?: ReactNode;
  /** That there is none yet. */
  title?: string;
  /** What the records are and what they are for. */
  about?: ReactNode;
  /** How one of them may look. */
  example?: ReactNode;
  /** The button that makes the first. */
  action?: ReactNode;
}

/** A list without rows. Before there is anything, it says what belongs here, shows an example and has the button. */
export function Empty({ children, title, about, example, action }: EmptyProps) {
  if (!title)
    return (
      <div className="panel">
        <Group justify="space-between">
          <Text c="dimmed">{children}</Text>
          {action}
        </Group>
      </div>
    );
  return (
    <div className="panel empty">
      <strong>{title}</strong>
      {about && <Text c="dimmed">{about}</Text>}
      {example && (
        <Text className="empty-example" dir="auto">
          <span className="note">For example: </span>
          {example}
        </Text>
      )}
      {action && <div>{action}</div>}
    </div>
  );
}

const ADVICE: Record<number, string> = {
  0: 'Check the terminal where Perdura runs.',
  403: 'It belongs to someone else. To see it, sign in with another access token.',
  404: 'It may have been deleted. Go back to the list.',
  429: 'Wait a moment and try again.',
};

/** Shows why a request failed; nothing if it did not. */
export function Failure({ problem, retry }: { problem: ApiProblem | null; retry?: () => void }) {
  if (!problem) return null;
  return (
    <Alert
      color="red"
      variant="outline"
      title={problem.status === 404 ? 'Not found' : 'Request failed'}
      role="alert"
      tabIndex={-1}
    >
      <Stack gap="xs" align="flex-start">
        <Text>
          {sentence(problem.message)} {ADVICE[problem.status]}
        </Text>
        {retry && (
          <Button variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Shows a failure on its own line below a group of buttons. */
export function FailureBelow({ problem }: { problem: ApiProblem | null }) {
  if (!problem) return null;
  return (
    <div style={{ flexBasis: '100%', order: 1 }}>
      <Failure problem={problem} />
    </div>
  );
}

interface Query<T> {
  data: T | undefined;
  error: ApiProblem | null;
  refetch(): unknown;
}

/** Shows the state of a read: loading, failed, or its data. Data stays visible while it is read again. */
export function Loaded<T>({ query, what, children }: { query: Query<T>; what?: string; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  return <Loading {...(what ? { what } : {})} />;
}
