import { Alert, Anchor, Text } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';
import { Status } from '../ui/show.tsx';

/** Beside the name of a record in a list: it names stored tokens that its reader cannot use. */
export function NeedsMark({ needs = [] }: { needs?: readonly string[] | undefined }) {
  if (needs.length === 0) return null;
  return (
    <Text size="xs">
      <Status of="needs" tone="wait">
        needs {needs.length === 1 ? 'a token' : 'tokens'}: {needs.join(', ')}
      </Status>
    </Text>
  );
}

/** On the page of a record: the same, and how it is put right. */
export function NeedsAlert({ noun, needs = [] }: { noun: string; needs?: readonly string[] | undefined }) {
  if (needs.length === 0) return null;
  return (
    <Alert color="yellow" variant="outline">
      <Text fw={600}>
        This {noun} needs {needs.length === 1 ? 'a token' : 'tokens'}
      </Text>
      You can use no stored token named{' '}
      {needs.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && (index === needs.length - 1 ? ' or ' : ', ')}
          <Anchor underline="always" component={Link} to={`/tokens/new?name=${encodeURIComponent(name)}`}>
            {name}
          </Anchor>
        </Fragment>
      ))}
      . Until you can, a run that needs it is refused.
    </Alert>
  );
}

interface Doubt {
  path: string;
  message: string;
}

/** On the page of a record: what is right and may not do what is meant, such as a tool that runs would not be offered. */
export function DoubtsAlert({ warnings = [] }: { warnings?: readonly Doubt[] | undefined }) {
  if (warnings.length === 0) return null;
  return (
    <Alert color="yellow" variant="outline">
      <Text fw={600}>Check this</Text>
      {warnings.map(({ path, message }) => (
        <Text key={`${path} ${message}`} size="sm">
          <span className="mono">{path}</span>: {message}
        </Text>
      ))}
    </Alert>
  );
}
