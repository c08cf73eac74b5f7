import { Alert, Button, Checkbox, Group, Stack, Text, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type McpTool, mcps } from '../../../contracts/mcps.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { ImportReport } from '../../ui/import-report.tsx';
import { parsedJson } from '../../ui/json.ts';
import { Section } from '../../ui/page.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import type { Stored } from '../resource.ts';
import { TestButton } from './test-button.tsx';

export function McpPanel({ record }: { record: Stored }) {
  const test = useAct(mcps.test);
  const [asked, setAsked] = useState(false);
  return (
    <Stack gap="xs">
      <Group>
        <TestButton
          test={test}
          id={record.id}
          label="Test the connection"
          yes={({ tools }) => `It answers, with ${tools.length} tools.`}
        />
        <Button variant="default" disabled={asked} onClick={() => setAsked(true)}>
          List its tools
        </Button>
      </Group>
      {record.last_error && !test.data && (
        <Alert color="red" variant="outline">
          {record.last_error}
        </Alert>
      )}
      {asked && <Tools id={record.id} />}
    </Stack>
  );
}

function Tools({ id }: { id: string }) {
  const query = useRead(mcps.tools, { params: { id } });
  const allow = useAct(mcps.allow, { line: `tools of ${id}` });
  // Shown as ticked at once, and further ticks taken, while the service is told.
  const told = allow.isPending ? allow.variables.body?.allowed_tools : undefined;
  const isTicked = ({ name, allowed }: McpTool) => (told ? told.length === 0 || told.includes(name) : allowed);
  return (
    <Section title="Tools">
      <Loaded query={query} what="Asking the server for its tools">
        {({ tools }) => {
          const ticked = tools.filter(isTicked);
          const change = (name: string, tick: boolean) => {
            const names = tools.filter((tool) => (tool.name === name ? tick : isTicked(tool))).map((tool) => tool.name);
            allow.mutate({ params: { id }, body: { allowed_tools: names.length === tools.length ? [] : names } });
          };
          if (tools.length === 0) return <Empty>The server offers no tools.</Empty>;
          return (
            <Stack gap={6} className="panel">
              <Text c="dimmed">Those that are ticked may be used; one at least.</Text>
              {tools.map((tool) => (
                <Checkbox
                  key={tool.name}
                  label={<span className="mono">{tool.name}</span>}
                  description={`${tool.effect}. ${tool.description}`}
                  checked={isTicked(tool)}
                  disabled={ticked.length === 1 && isTicked(tool)}
                  onChange={(event) => change(tool.name, event.currentTarget.checked)}
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
  return (
    <DialogButton label="Import" title="Import MCP servers" size="lg">
      <McpImportForm />
    </DialogButton>
  );
}

function McpImportForm() {
  const act = useAct(mcps.import);
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = parsedJson(text);
    setWrong('wrong' in read ? read.wrong : null);
    if ('value' in read) act.mutate({ body: read.value as never });
  };
  return (
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
  );
}
