import { Stack } from '@mantine/core';
import type { VersionChange } from '../../contracts/versions.ts';
import { TextDiff, textToCompare } from '../ui/diff.tsx';
import { Status } from '../ui/show.tsx';

const TONES = { added: 'good', removed: 'bad', changed: 'wait', reordered: 'quiet' } as const;

/** Shows changes field by field, each with the texts before and after. */
export function Changes({ of: changes }: { of: VersionChange[] }) {
  return (
    <Stack gap="sm">
      {changes.map(({ path, kind, before, after }) => (
        <div key={`${kind} ${path}`}>
          <Status of={kind} tone={TONES[kind]} /> <strong className="mono">{path}</strong>
          <TextDiff before={formatValue(before)} after={formatValue(after)} label={`${path}, before and after`} />
        </div>
      ))}
    </Stack>
  );
}

/** Formats a value; a list becomes one name a line, in its order. */
const formatValue = (value: unknown): string =>
  value === null
    ? 'none'
    : Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value.join('\n')
      : textToCompare(value);
