import { Alert, Button, Checkbox, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, useState } from 'react';
import { mcps } from '../../../contracts/mcps.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { ImportReport } from '../../ui/import-report.tsx';
import { Section } from '../../ui/page.tsx';
import { Status } from '../../ui/show.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import type { Stored } from '../resource.ts';

export function McpPanel({ record }: { record: Stored }) {
  const test = useAct(mcps.test);
  const [asked, setAsked] = useState(false);
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate({ params: { id: record.id } })}>
          Test the connection
        </Button>
        <Button variant="default" disabled={asked} onClick={() => setAsked(true)}>
          List its tools
        </Button>
        {test.data && (
          <Status of={test.data.success ? 'done' : 'failed'}>
            {test.data.success ? `It answers, with ${test.data.tools.length} tools.` : (test.data.error ?? 'It failed.')}
          </Status>
        )}
      </Group>
      {record.last_error && !test.data && (
        <Alert color="red" variant="outline">
          {record.last_error}
        </Alert>
      )}
      {test.error && <Failure problem={test.error} />}
      {asked && <Tools id={record.id} />}
    </Stack>
  );
}

function Tools({ id }: { id: string }) {
  const query = useRead(mcps.tools, { params: { id } });
  const allow = useAct(mcps.allow);
  return (
    <Section title="Tools">
      <Loaded query={query} what="Asking the server for its tools">
        {({ tools }) => {
          const change = (name: string, allowed: boolean) => {
            const names = tools.filter((tool) => (tool.name === name ? allowed : tool.allowed)).map((tool) => tool.name);
            allow.mutate({ params: { id }, body: { allowed_tools: names.length === tools.length ? [] : names } });
          };
          if (tools.length === 0) return <Empty>The server offers no tools.</Empty>;
          return (
            <Stack gap={6} className="panel">
              <Text c="dimmed">Those that are ticked may be used.</Text>
              {tools.map(({ name, description, effect, allowed }) => (
                <Checkbox
                  key={name}
                  label={<span className="mono">{name}</span>}
                  description={`${effect}. ${description}`}
                  checked={allowed}
                  disabled={allow.isPending || (allowed && tools.filter((tool) => tool.allowed).length === 1)}
                  onChange={(event) => change(name, event.currentTarget.checked)}
                />
              ))}
              {allow.error && <Failure problem={allow.error} />}
            </Stack>
          );
        }}
      </Loaded>
    </Section>
  );
}

/** Takes the JSON that other programs keep their servers in. */
export function McpImportButton() {
  const [opened, dialog] = useDisclosure();
  const act = useAct(mcps.import);
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      setWrong(null);
      act.mutate({ body: JSON.parse(text) });
    } catch (error) {
      setWrong(`This is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Import …
      </Button>
      <Modal opened={opened} onClose={dialog.close} title="Import MCP servers" size="lg">
        <form onSubmit={submit}>
          <Stack>
            <Textarea
              label="mcpServers JSON"
              description="As other programs keep it."
              placeholder='{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files-mcp"]}}}'
              autosize
              minRows={6}
              maxRows={20}
              value={text}
              error={wrong}
              onChange={(event) => setText(event.currentTarget.value)}
              data-autofocus
            />
            {act.error && <Failure problem={act.error} />}
            {act.data && <ImportReport title="Servers" result={act.data} />}
            <Group justify="flex-end">
              <Button type="submit" loading={act.isPending}>
                Import
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
