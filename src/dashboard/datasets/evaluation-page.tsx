import { Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { datasets } from '../../contracts/datasets.ts';
import { type EvaluationDetail, evaluations, type Grader } from '../../contracts/evaluations.ts';
import { useAct, useRead } from '../api/queries.ts';
import { shortId } from '../runs/run-name.ts';
import { RunVersion } from '../runs/run-version.tsx';
import { formatDuration, formatRate } from '../ui/figures.ts';
import { useLiveText } from '../ui/live.tsx';
import { Page } from '../ui/page.tsx';
import { Code, Facts, Status } from '../ui/show.tsx';
import { Failure, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { evaluationTitle, evaluationUrl } from './evaluation-url.ts';
import { Regressions } from './regressions.tsx';
import { Results } from './results.tsx';

export default function EvaluationPage() {
  const { id = '', run_id = '' } = useParams();
  const dataset = useRead(datasets.get, { params: { id } });
  const query = useRead(evaluations.get, { params: { id, run_id } });
  const title = query.data ? `Evaluation of ${query.data.workflow_title ?? 'a workflow'}` : 'Evaluation';
  return (
    <Page
      title={title}
      tab={`${title} · ${shortId(run_id)}`}
      parent={{ to: `/datasets/${id}?tab=evaluations`, title: dataset.data?.name ?? 'Dataset' }}
    >
      <Loaded query={query} what="Loading the evaluation">
        {(evaluation) => <EvaluationView key={evaluation.id} evaluation={evaluation} />}
      </Loaded>
    </Page>
  );
}

function EvaluationView({ evaluation }: { evaluation: EvaluationDetail }) {
  const { status, baseline_id, regressions, graders } = evaluation;
  const has_comparison = baseline_id !== null && (status === 'completed' || regressions.length > 0);
  useLiveText(`The evaluation is ${status}`);
  return (
    <Stack>
      <Head evaluation={evaluation} />
      {has_comparison && <Regressions evaluation={evaluation} />}
      <Graders graders={graders} />
      <Results evaluation={evaluation} />
    </Stack>
  );
}

function Head({ evaluation }: { evaluation: EvaluationDetail }) {
  const { dataset_id, status, items, passed, failed, errors, pass_rate, baseline_id, created_at, completed_at } = evaluation;
  const took = completed_at === null ? null : Date.parse(completed_at) - Date.parse(created_at);
  return (
    <Stack gap="xs" className="panel">
      <Facts
        of={{
          Status: <Status of={status} />,
          'Pass rate': pass_rate === null ? '—' : formatRate(pass_rate),
          Passed: `${passed} of ${items}`,
          Failed: failed,
          'Not graded': errors,
          Workflow: (
            <Anchor component={Link} to={`/workflows/${evaluation.workflow_id}`} inherit>
              {evaluationTitle(evaluation)}
            </Anchor>
          ),
          Version: <RunVersion task={evaluation} />,
          Model: evaluation.model ?? 'default',
          'Tool calls': evaluation.effects,
          'Runs at once': evaluation.parallel,
          Started: <When at={created_at} />,
          ...(took !== null && { Took: formatDuration(took) }),
          ...(baseline_id && { Baseline: <Baseline dataset_id={dataset_id} id={baseline_id} /> }),
        }}
      />
      {status === 'running' && <Running evaluation={evaluation} />}
    </Stack>
  );
}

function Baseline(of: Pick<EvaluationDetail, 'dataset_id' | 'id'>) {
  return (
    <Anchor component={Link} to={evaluationUrl(of)} inherit>
      an earlier evaluation
    </Anchor>
  );
}

function Running({ evaluation: { id: run_id, dataset_id, items, passed, failed, errors } }: { evaluation: EvaluationDetail }) {
  const halt = useAct(evaluations.halt);
  const done = passed + failed + errors;
  return (
    <>
      <Progress value={(done / items) * 100} aria-label="Items done" />
      <Group justify="space-between">
        <Text>
          {done} of {items} items done
        </Text>
        <Button
          color="red"
          loading={halt.isPending}
          data-needs={halt.needs}
          disabled={halt.isSuccess}
          onClick={() => halt.mutate({ params: { id: dataset_id, run_id } })}
        >
          {halt.isSuccess ? 'Halting …' : 'Halt'}
        </Button>
      </Group>
      <Failure problem={halt.error} />
    </>
  );
}

const formatType = ({ type }: Grader) => type.replaceAll('_', ' ');

/** Shows the graders, and their settings on request. */
function Graders({ graders }: { graders: Grader[] }) {
  return (
    <details>
      <summary>Graders: {graders.map(formatType).join(', ')}</summary>
      <Stack gap="xs" mt="xs">
        {graders.map((grader) => (
          <Code key={JSON.stringify(grader)} label={`Settings of ${formatType(grader)}`}>
            {grader}
          </Code>
        ))}
      </Stack>
    </details>
  );
}
