import { Alert, Anchor, Text } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';
import type { Warning } from '../../contracts/common.ts';
import { Status } from '../ui/show.tsx';

/** Marks a record in a list that refers to stored tokens that the viewer cannot use. */
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

/** Lists such tokens on the page of a record, with links that create the missing ones. */
export function NeedsAlert({ noun, needs = [] }: { noun: string; needs?: readonly string[] | undefined }) {
  if (needs.length === 0) return null;
  return (
    <Alert color="yellow" variant="outline">
      <Text fw={600}>
        This {noun} needs {needs.length === 1 ? 'a token' : 'tokens'}
      </Text>
      You have no access to a stored token named{' '}
      {needs.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && (index === needs.length - 1 ? ' or ' : ', ')}
          <Anchor underline="always" component={Link} to={`/tokens/new?name=${encodeURIComponent(name)}`}>
            {name}
          </Anchor>
        </Fragment>
      ))}
      . Until you store it, runs that need it are refused.
    </Alert>
  );
}

/**
 * Warns on the page of a record about settings that are valid but may not do what is meant, such as a tool that runs would not
 * offer.
 */
export function WarningsAlert({ warnings = [] }: { warnings?: readonly Warning[] | undefined }) {
  if (warnings.length === 0) return null;
  return (
    <Alert color="yellow" variant="outline">
      <Text fw={600}>Check these settings</Text>
      {warnings.map(({ path, message }) => (
        <Text key={`${path} ${message}`} size="sm">
          <span className="mono">{path}</span>: {message}
        </Text>
      ))}
    </Alert>
  );
}
