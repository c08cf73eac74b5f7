import { Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { versions } from '../../contracts/versions.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { ApiProblem } from '../api/call.ts';
import { useRead, useReads } from '../api/queries.ts';
import { TextDiff, textToCompare } from '../ui/diff.tsx';
import { useFilters } from '../ui/filters.ts';
import { type Column, ColumnTable } from '../ui/list.tsx';
import { Page, Section } from '../ui/page.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Status } from '../ui/show.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import {
  type ComparedRun,
  callsLine,
  formatElapsed,
  parseIds,
  stepLine,
  stepShape,
  tokensLine,
  toRunLabel,
  transcriptText,
} from './compared.ts';
import { RunCost } from './run-cost.tsx';
import { shortId } from './run-name.ts';

/** The page that compares runs: their figures, steps and texts. */
export default function Compare() {
  const { filters } = useFilters();
  const ids = parseIds(filters.ids);
  return (
    <Page title="Compare runs" tab={['Compare', ...ids.map(shortId)].join(' ')} parent={{ to: '/tasks', title: 'Tasks' }}>
      {ids.length < 2 ? (
        <Empty>Choose at least two runs: open a run and press Compare with …</Empty>
      ) : (
        <Comparison key={ids.join()} ids={ids} />
      )}
    </Page>
  );
}

function Comparison({ ids }: { ids: string[] }) {
  const inputs = ids.map((id) => ({ params: { id }, query: { include: 'messages,steps' } }));
  const queries = useReads(tasks.get, inputs);
  const failed = queries.find(({ data, error }) => error && !data);
  if (failed) return <Failure problem={failed.error as ApiProblem} retry={() => void failed.refetch()} />;
  const runs = queries.flatMap(({ data }) => (data ? [data] : []));
  if (runs.length < ids.length) return <Loading what="Loading the runs" />;
  return (
    <Stack>
      <Figures runs={runs} />
      <Steps runs={runs} />
      {runs.slice(1).map((run, index) => (
        <Texts key={run.id} first={runs[0]!} other={run} name={toRunLabel(index + 1)} />
      ))}
    </Stack>
  );
}

interface Line {
  label: string;
  show(run: ComparedRun): ReactNode;
  /** Returns the value to compare; if absent, differences are not marked. */
  of?(run: ComparedRun): unknown;
}

const LINES: Line[] = [
  { label: 'Status', show: ({ status }) => <Status of={status} />, of: ({ status }) => status },
  { label: 'Error', show: ({ error_code }) => error_code ?? '—', of: ({ error_code }) => error_code },
  { label: 'Agent', show: ({ agent_name }) => agent_name, of: ({ agent_id }) => agent_id },
  { label: 'Model', show: ({ model }) => model ?? 'default', of: ({ model }) => model },
  { label: 'Steps', show: ({ steps }) => steps, of: ({ steps }) => steps },
  { label: 'Tool calls', show: callsLine, of: callsLine },
  { label: 'Tokens', show: tokensLine },
  { label: 'Cost', show: ({ usage, priced }) => <RunCost usage={{ ...usage, priced }} /> },
  { label: 'Took', show: formatElapsed },
  { label: 'Created', show: ({ created_at }) => <When at={created_at} /> },
];

function Figures({ runs }: { runs: ComparedRun[] }) {
  const version = useVersionLine(runs);
  const lines: Line[] = [RUN, version, ...LINES];
  return (
    <Section title="Figures">
      <ColumnTable rows={lines} columns={buildColumns(runs, (line: Line) => line)} label="figures" toKey={({ label }) => label} />
      {runs.some(({ status }) => !isTerminal(status)) && (
        <Text c="dimmed">A run that has not ended is read again every few seconds.</Text>
      )}
    </Section>
  );
}

const RUN: Line = {
  label: 'Prompt',
  show: ({ id, prompt }) => (
    <Anchor component={Link} to={`/tasks/${id}`} className="clip" title={prompt.slice(0, 500)}>
      {shortenPrompt(prompt, 200)}
    </Anchor>
  ),
  of: ({ prompt }) => prompt,
};

/** Shows the number of each run's version if all runs belong to one workflow, otherwise the beginning of its hash. */
function useVersionLine(runs: ComparedRun[]): Line {
  const workflow_id = runs[0]!.workflow_id;
  const same = runs.every((run) => run.workflow_id === workflow_id);
  const { data } = useRead(versions.list, { params: { id: workflow_id }, query: { limit: 1000 } }, { enabled: same });
  const findVersionNumber = (hash: string) => data?.items.find(({ definition_hash }) => definition_hash === hash)?.number;
  const first = findVersionNumber(runs[0]!.definition_hash);
  return {
    label: 'Version',
    of: ({ definition_hash }) => definition_hash,
    show({ definition_hash }) {
      const number = findVersionNumber(definition_hash);
      if (!number) return <span className="mono">{definition_hash.slice(0, 8)}</span>;
      const against = first && first !== number ? `&against=${first}` : '';
      return (
        <Anchor component={Link} to={`/workflows/${workflow_id}?tab=versions&version=${number}${against}`}>
          Version {number}
        </Anchor>
      );
    },
  };
}

/** Builds a column for each run. Values that differ from the first run's are marked. */
function buildColumns<T>(runs: ComparedRun[], toLine: (row: T) => Line): Column<T>[] {
  const renderCell = (row: T, run: ComparedRun) => {
    const { show, of } = toLine(row);
    const differs = of !== undefined && of(run) !== of(runs[0]!);
    return differs ? <div className="differs">{show(run)}</div> : show(run);
  };
  return [
    { label: 'Compared', show: (row) => toLine(row).label },
    ...runs.map((run, index) => ({ label: toRunLabel(index), show: (row: T) => renderCell(row, run) })),
  ];
}

function Steps({ runs }: { runs: ComparedRun[] }) {
  const most = Math.max(...runs.map(({ steps_detail = [] }) => steps_detail.at(-1)?.step ?? 0));
  const findStep = ({ steps_detail = [] }: ComparedRun, number: number) => steps_detail.find(({ step }) => step === number);
  const toLine = (number: number): Line => ({
    label: `Step ${number}`,
    show: (run) => stepLine(findStep(run, number)),
    of: (run) => stepShape(findStep(run, number)),
  });
  if (most === 0) return null;
  const numbers = Array.from({ length: most }, (_, index) => index + 1);
  return (
    <Section title="Steps">
      <ColumnTable rows={numbers} columns={buildColumns(runs, toLine)} label="steps" toKey={(number) => number} />
    </Section>
  );
}

function Texts({ first, other, name }: { first: ComparedRun; other: ComparedRun; name: string }) {
  const [before, after] = [transcriptText(first), transcriptText(other)];
  const answers = [textToCompare(first.response), textToCompare(other.response)] as const;
  return (
    <Section title={`From ${toRunLabel(0)} to ${name}`}>
      <Text size="xs" c="dimmed">
        Answer
      </Text>
      {answers[0] === answers[1] ? (
        <Text>The same.</Text>
      ) : (
        <TextDiff before={answers[0]} after={answers[1]} label={`Answer, ${name}`} />
      )}
      <Text size="xs" c="dimmed">
        Conversation
      </Text>
      {before === after ? <Text>The same.</Text> : <TextDiff before={before} after={after} label={`Conversation, ${name}`} />}
    </Section>
  );
}
