import { Button, Checkbox, FileInput, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { ImportReport } from '../ui/import-report.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Failure } from '../ui/states.tsx';
import { listReports, PARTS, parseBundle, type Report } from './bundle-file.ts';

export default function Transfer() {
  return (
    <Page title="Import and export">
      <Text c="dimmed">
        Skills, guardrails, agents, your workflows and schedules, and knowledge sources. A bundle is one JSON file with some or
        all of them. It contains no secrets, only the names of stored tokens.
      </Text>
      <Export />
      <Import />
    </Page>
  );
}

function Export() {
  const [part, setPart] = useState('bundle');
  return (
    <Section title="Export">
      <Group align="end" className="panel">
        <NativeSelect
          label="Resources"
          value={part}
          onChange={(event) => setPart(event.currentTarget.value)}
          data={Object.entries(PARTS).map(([value, { label }]) => ({ value, label }))}
        />
        <DownloadButton key={part} size="sm" name={`perdura-${part}.json`} endpoint={PARTS[part]!.export}>
          Download
        </DownloadButton>
      </Group>
    </Section>
  );
}

function Import() {
  const [file, setFile] = useState<File | null>(null);
  const [dry, setDry] = useState(true);
  const { done, wrong, problem, busy, send } = useImport();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(file, dry);
  };
  return (
    <Section title="Import">
      <form onSubmit={submit}>
        <Stack className="panel">
          <FileInput
            label="Bundle"
            description="A JSON file from Export."
            placeholder="Choose a file"
            accept=".json,application/json"
            value={file}
            onChange={setFile}
            error={wrong}
          />
          <Checkbox
            label="Dry run: only report what would change"
            checked={dry}
            onChange={(event) => setDry(event.currentTarget.checked)}
          />
          <Group>
            <Button type="submit" size="sm" loading={busy} data-needs="write">
              {dry ? 'Preview' : 'Import'}
            </Button>
          </Group>
          <Failure problem={problem} />
          {done &&
            listReports(done.reply).map(([title, result]) => (
              <ImportReport key={title} title={title} result={result} dry={done.dry} />
            ))}
        </Stack>
      </form>
    </Section>
  );
}

/** Imports a file. Its `resource_type` decides which endpoint receives it. */
function useImport() {
  const { call } = useClient();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [done, setDone] = useState<{ dry: boolean; reply: Report } | null>(null);
  const send = async (file: File | null, dry: boolean) => {
    setWrong(null);
    setProblem(null);
    setDone(null);
    const read = await parseBundle(file);
    if ('wrong' in read) return setWrong(read.wrong);
    setBusy(true);
    try {
      setDone({ dry, reply: await call(PARTS[read.part]!.import, { query: { dry_run: dry }, body: read.body }) });
      if (!dry) await queries.invalidateQueries();
    } catch (error) {
      setProblem(error as ApiProblem);
    }
    setBusy(false);
  };
  return { done, wrong, problem, busy, send };
}
