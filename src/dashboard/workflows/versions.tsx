import { Anchor, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { scores, type VersionScores } from '../../contracts/scores.ts';
import { type VersionDetail, versions, type WorkflowVersion } from '../../contracts/versions.ts';
import { useList, useRead } from '../api/queries.ts';
import { evaluationUrl } from '../datasets/evaluation-url.ts';
import { formatCount, formatRate } from '../ui/figures.ts';
import { useFilters } from '../ui/filters.ts';
import { type Column, ListTable } from '../ui/list.tsx';
import { Section } from '../ui/page.tsx';
import { Code, Status } from '../ui/show.tsx';
import { Empty, Failure, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { Changes } from './changes.tsx';
import { RestoreButton } from './restore.tsx';

const ORIGINS = { saved: 'saved', run: 'first run' };

/** Lists the versions of a workflow, and the changes of the selected one. */
export function Versions({ workflow_id }: { workflow_id: string }) {
  const { filters } = useFilters();
  const query = useList(versions.list, { limit: 50 }, { params: { id: workflow_id } });
  const scored = useRead(scores.byVersion, { params: { id: workflow_id } });
  const items = query.items ?? [];
  const chosen = Number(filters.version) || items[0]?.number;
  return (
    <Stack>
      {query.items && items.length > 0 && !items.some(({ current }) => current) && (
        <Text c="dimmed">The agent or another shared resource has changed since: the next run makes a new version.</Text>
      )}
      <ListTable
        query={query}
        columns={[...versionColumns(workflow_id), ...qualityColumns(scored.data ?? [])]}
        label="versions of this workflow"
        empty={<Empty>No version yet. One is recorded when you save the workflow or run it.</Empty>}
      />
      {chosen && <Chosen key={chosen} workflow_id={workflow_id} number={chosen} all={items} />}
    </Stack>
  );
}

export const versionColumns = (workflow_id: string): Column<WorkflowVersion>[] => [
  {
    label: 'Version',
    show: ({ number, current }) => (
      <Group gap="xs" wrap="nowrap">
        <Anchor component={Link} to={`?tab=versions&version=${number}`} className="nowrap">
          Version {number}
        </Anchor>
        {current && <Status of="current" tone="good" />}
      </Group>
    ),
  },
  {
    label: 'Recorded',
    show: ({ origin, created_by, created_at }) => (
      <>
        <When at={created_at} />
        <Text size="xs" c="dimmed" className="nowrap">
          {ORIGINS[origin]} by {created_by}
        </Text>
      </>
    ),
  },
  {
    label: 'Runs',
    show: ({ number, runs }) =>
      runs === 0 ? (
        'none'
      ) : (
        <Anchor component={Link} to={`/tasks?workflow_id=${workflow_id}&version=${number}`} className="nowrap">
          {formatCount(runs, 'run')}
        </Anchor>
      ),
  },
];

/** Returns columns about the quality of a version's answers: people's scores, and the pass rate of its last evaluation. */
export const qualityColumns = (scored: VersionScores[]): Column<WorkflowVersion>[] => [
  {
    label: 'Scores',
    show: ({ definition_hash }) => scoresLine(scored.find((version) => version.definition_hash === definition_hash)),
  },
  {
    label: 'Pass rate',
    show: ({ last_evaluation: last }) =>
      last ? (
        <Anchor component={Link} to={evaluationUrl(last)} className="nowrap" title={`Evaluated at ${last.completed_at}`}>
          {formatRate(last.pass_rate)}
        </Anchor>
      ) : (
        '—'
      ),
  },
];

function scoresLine(scored: VersionScores | undefined): string {
  if (!scored || scored.scored === 0) return '—';
  const { thumbs_up, thumbs_down, mean_value } = scored;
  const thumbs = thumbs_up + thumbs_down > 0 ? [`${thumbs_up} up, ${thumbs_down} down`] : [];
  return [...thumbs, ...(mean_value === null ? [] : [`mean ${Math.round(mean_value * 100) / 100}`])].join(', ');
}

interface ChosenProps {
  workflow_id: string;
  number: number;
  all: WorkflowVersion[];
}

/** Shows one version: its difference from another one, its definition, and a button that restores it. */
function Chosen({ workflow_id, number, all }: ChosenProps) {
  const { filters, set } = useFilters();
  const before = all.find((other) => other.number < number)?.number;
  const against = filters.against ?? (before === undefined ? '' : `${before}`);
  const query = useRead(versions.get, {
    params: { id: workflow_id, number },
    query: against ? { against: against as 'current' } : {},
  });
  const others = all.filter((other) => other.number !== number).map((other) => `${other.number}`);
  const listed_versions = against === '' || against === 'current' || others.includes(against) ? others : [against, ...others];
  return (
    <Section
      title={`Version ${number}`}
      actions={query.data?.restorable && <RestoreButton workflow_id={workflow_id} number={number} />}
    >
      <NativeSelect
        label="Changes since"
        size="xs"
        w="fit-content"
        value={against}
        onChange={(event) => set('against', event.currentTarget.value)}
        data={[
          ...(against === '' ? [{ value: '', label: 'nothing' }] : []),
          ...listed_versions.map((value) => ({ value, label: `version ${value}` })),
          { value: 'current', label: 'what the next run uses' },
        ]}
      />
      {query.data && query.error && <Failure problem={query.error} />}
      <Loaded query={query} what="Loading the version">
        {(version) => <VersionView version={version} />}
      </Loaded>
    </Section>
  );
}

function VersionView({ version: { number, changes, definition, restorable } }: { version: VersionDetail }) {
  return (
    <Stack>
      {changes?.length === 0 && <Text>Nothing differs.</Text>}
      {changes && <Changes of={changes} />}
      {!restorable && <Text c="dimmed">Its runs are older than versions, so it can be compared but not restored.</Text>}
      <details>
        <summary>The whole definition</summary>
        <Code label={`Definition of version ${number}`}>{definition}</Code>
      </details>
    </Stack>
  );
}
