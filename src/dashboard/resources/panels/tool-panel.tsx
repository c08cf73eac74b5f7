import { Button, Group, Stack, Switch, Text, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { customTools } from '../../../contracts/custom-tools.ts';
import { parseExact } from '../../../domain/exact-json.ts';
import type { ApiReply } from '../../api/call.ts';
import { useRefusal } from '../../api/may.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { formatDuration } from '../../ui/figures.ts';
import { parseJson } from '../../ui/json.ts';
import { Section } from '../../ui/page.tsx';
import { Code, TestVerdict } from '../../ui/show.tsx';
import { Failure, Loaded } from '../../ui/states.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';
import type { Values } from '../fields.ts';
import { Picker } from '../pickers.tsx';
import type { Stored } from '../resource.ts';

export function ToolPanel({ record }: { record: Stored }) {
  return (
    <Stack>
      {record.is_plugin && <PluginSwitch record={record} />}
      <Network record={record} />
      <RunTool record={record} />
      {record.env_config && <EnvMapping id={record.id} />}
    </Stack>
  );
}

/** Shows the only setting of a plugin that can be changed apart from its variables. */
function PluginSwitch({ record }: { record: Stored }) {
  const update = useAct(customTools.update, { line: `switch of ${record.id}` });
  const refusal = useRefusal(update.needs);
  const pending = update.isPending ? update.variables.body?.is_enabled : undefined;
  return (
    <>
      <Switch
        label="Enabled"
        disabled={refusal !== null}
        description={refusal}
        checked={pending ?? record.is_enabled}
        onChange={(event) => update.mutate({ params: { id: record.id }, body: { is_enabled: event.currentTarget.checked } })}
      />
      <Failure problem={update.error} />
    </>
  );
}

/** Shows the network access of the tool. Variables alone do not grant it. */
function Network({ record: { network, env_config } }: { record: Stored }) {
  const about_variables = env_config ? ' Environment variables do not grant it.' : '';
  return (
    <Text size="sm" c="dimmed">
      {network ? (
        'This tool can reach the network through the egress guard.'
      ) : (
        <>
          This tool has no network access.{about_variables} To grant it, set <code>NETWORK = True</code> in the source.
        </>
      )}
    </Text>
  );
}

function RunTool({ record }: { record: Stored }) {
  const run = useAct(customTools.run);
  const [text, setText] = useState(() => JSON.stringify(buildExample(record.parameters_schema), null, 2));
  const [tried, setTried] = useState(text);
  const [wrong, setWrong] = useState<string | null>(null);
  useUnsaved(text !== tried);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = parseJson(text, parseExact);
    setWrong('wrong' in read ? read.wrong : null);
    if ('value' in read)
      run.mutate(
        { params: { id: record.id }, body: { arguments: read.value as Record<string, unknown> } },
        { onSuccess: () => setTried(text) },
      );
  };
  return (
    <Section title="Test run">
      <form onSubmit={submit}>
        <Stack gap="xs" className="panel" maw="46rem">
          <Textarea
            label="Arguments (JSON)"
            autosize
            minRows={2}
            value={text}
            error={wrong}
            onChange={(event) => setText(event.currentTarget.value)}
            classNames={{ input: 'mono' }}
            spellCheck={false}
          />
          <Group>
            <Button type="submit" variant="default" loading={run.isPending} data-needs={run.needs}>
              Run the tool
            </Button>
            {run.data && <RunVerdict run={run.data} />}
          </Group>
          {run.data && <Code label="Result">{run.data.result}</Code>}
          {run.data?.stdout && <Code label="Standard output">{run.data.stdout}</Code>}
          {run.data?.stderr && <Code label="Standard error">{run.data.stderr}</Code>}
          <Failure problem={run.error} />
        </Stack>
      </form>
    </Section>
  );
}

function RunVerdict({ run: { success, error, duration_ms } }: { run: ApiReply<typeof customTools.run> }) {
  const took = `(${formatDuration(duration_ms)})`;
  return <TestVerdict good={success} yes={`Completed ${took}`} no={`${error ?? 'Failed'} ${took}`} />;
}

const EXAMPLES: Record<string, unknown> = { string: '', integer: 0, number: 0, boolean: false, array: [], object: {} };

function buildExample({
  properties = {},
  required = [],
}: {
  properties?: Record<string, { type?: string }>;
  required?: string[];
}) {
  return Object.fromEntries(required.map((name) => [name, EXAMPLES[properties[name]?.type ?? 'string'] ?? null]));
}

function EnvMapping({ id }: { id: string }) {
  const query = useRead(customTools.getEnvMapping, { params: { id } });
  const set = useAct(customTools.setEnvMapping, { line: `variables of ${id}` });
  const refusal = useRefusal(set.needs);
  const pending = set.isPending ? set.variables.body?.env_mapping : undefined;
  return (
    <Section title="Environment variables">
      <Loaded query={query}>
        {({ env_mapping, available_tokens }) => (
          <Stack gap="xs" className="panel" maw="46rem">
            {Object.entries({ ...env_mapping, ...pending }).map(([name, token]) => (
              <Picker
                key={name}
                kind="token"
                label={<span className="mono">{name}</span>}
                placeholder="Choose a stored token"
                among={available_tokens.map((token) => ({ value: token, label: token }))}
                value={token}
                clearable
                disabled={refusal !== null}
                description={refusal}
                onChange={(value) => set.mutate({ params: { id }, body: { env_mapping: { [name]: value } } })}
              />
            ))}
            <Text c="dimmed">The tool does not run until every variable has a token.</Text>
            <Failure problem={set.error} />
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

/** Validates the source in the form without storing or running it. */
export function ValidateTool({ values }: { values: Values }) {
  const act = useAct(customTools.validate);
  const body = { name: String(values.name), source_code: String(values.source_code) };
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" loading={act.isPending} data-needs={act.needs} onClick={() => act.mutate({ body })}>
          Validate the source
        </Button>
        {act.data && <TestVerdict good={act.data.valid} yes="Valid" no={act.data.error ?? 'Not valid'} />}
      </Group>
      {act.data?.valid && <Code label="Inferred schema">{act.data.inferred_schema}</Code>}
      <Failure problem={act.error} />
    </Stack>
  );
}
