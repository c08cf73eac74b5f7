import { List, Stack, Text } from '@mantine/core';
import type { ImportResult } from '../../contracts/transfer.ts';
import { Status } from './show.tsx';

/** The result of an import. */
export function ImportReport({ title, result, dry = false }: { title: string; result: ImportResult; dry?: boolean }) {
  const { created, errors, warnings } = result;
  return (
    <Stack gap={4} className="panel" role="status">
      <Status of={errors.length > 0 ? 'failed' : 'done'}>
        <strong>{title}:</strong> {created} {dry ? 'would be created' : 'created'}
        {errors.length > 0 && `, ${errors.length} refused`}
      </Status>
      {errors.length > 0 && (
        <List size="sm" aria-label={`Errors of ${title}`}>
          {errors.map((message) => (
            <List.Item key={message}>{message}</List.Item>
          ))}
        </List>
      )}
      {warnings.map(({ path, message }) => (
        <Text key={`${path} ${message}`} size="sm" c="dimmed">
          {message.includes(path) ? message : `${path}: ${message}`}
        </Text>
      ))}
    </Stack>
  );
}
