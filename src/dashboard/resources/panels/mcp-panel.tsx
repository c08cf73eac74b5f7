import { Alert, Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { z } from 'zod';
import { mcps } from '../../../contracts/mcps.ts';
import type { ImportResult } from '../../../contracts/transfer.ts';
import { parseCommentedJson } from '../../../domain/commented-json.ts';
import { useAct } from '../../api/queries.ts';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { formatCount } from '../../ui/figures.ts';
import { ImportReport } from '../../ui/import-report.tsx';
import { parseJson } from '../../ui/json.ts';
import { Failure } from '../../ui/states.tsx';
import { isUnsent, useUnsaved } from '../../ui/unsaved.tsx';
import type { Stored } from '../resource.ts';
import { McpSignInLine } from './mcp-sign-in-line.tsx';
import { McpTools } from './mcp-tools.tsx';
import { TestButton } from './test-button.tsx';

export function McpPanel({ record }: { record: Stored }) {
  const test = useAct(mcps.test);
  const refresh = useAct(mcps.refreshTools);
  return (
    <Stack gap="xs">
      <Group>
        <TestButton
          test={test}
          id={record.id}
          label="Test the connection"
          yes={({ tools }) => `Connected: ${formatCount(tools.length, 'tool')}`}
        />
        <Button
          variant="default"
          loading={refresh.isPending}
          data-needs={refresh.needs}
          onClick={() => refresh.mutate({ params: { id: record.id } })}
        >
          List tools
        </Button>
      </Group>
      <Failure problem={refresh.error} />
      {record.last_error && !test.data && (
        <Alert color="red" variant="outline">
          {record.last_error}
        </Alert>
      )}
      {record.transport_type !== 'stdio' && <McpSignInLine record={record} />}
      <McpTools id={record.id} />
    </Stack>
  );
}

/** Imports the `mcpServers` JSON that other MCP clients use. */
export function McpImportButton({ onImported }: { onImported?: OnImported }) {
  return (
    <DialogButton label="Import" title="Import MCP servers" size="lg" needs={mcps.import.access}>
      <McpImportForm {...(onImported && { onImported })} />
    </DialogButton>
  );
}

type OnImported = (ids: string[]) => void;
type Sent = z.input<typeof mcps.import.body>;

export function McpImportForm({ onImported }: { onImported?: OnImported }) {
  const act = useAct(mcps.import);
  const [text, setText] = useState('');
  const [sent, setSent] = useState('');
  const [wrong, setWrong] = useState<string | null>(null);
  useUnsaved(isUnsent(text, sent));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The dialog can be within another form.
    event.stopPropagation();
    const read = parseJson(text, parseCommentedJson);
    setWrong('wrong' in read ? read.wrong : null);
    if ('wrong' in read) return;
    const onSuccess = ({ ids }: ImportResult) => {
      setSent(text);
      onImported?.(ids);
    };
    act.mutate({ body: read.value as Sent }, { onSuccess });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Textarea
          label="mcpServers JSON"
          description="The format that other MCP clients use; comments and trailing commas are accepted."
          placeholder='{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files-mcp"]}}}'
          autosize
          minRows={6}
          maxRows={20}
          value={text}
          error={wrong}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
        <Failure problem={act.error} />
        {act.data && <ImportReport title="Servers" result={act.data} />}
        <Group justify="flex-end">
          <Button type="submit" loading={act.isPending} data-needs={act.needs}>
            Import
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
