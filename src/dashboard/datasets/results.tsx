import { Anchor, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { Link } from 'react-router';
import { type Evaluation, type EvaluationResult, evaluations, RESULT_STATUSES } from '../../contracts/evaluations.ts';
import { useList } from '../api/queries.ts';
import { TextDiff, textToCompare } from '../ui/diff.tsx';
import { useFilters } from '../ui/filters.ts';
import { Listed } from '../ui/list.tsx';
import { Section } from '../ui/page.tsx';
import { Code, Labelled, Status } from '../ui/show.tsx';
import { Empty } from '../ui/states.tsx';

const SHORT = 200;

/** Lists each item of an evaluation with its answer and grades. */
export function Results({ evaluation: { id: run_id, dataset_id, status } }: { evaluation: Evaluation }) {
  const { filters, set } = useFilters();
  const page_query = { limit: 50, ...(filters.status && { status: filters.status }) };
  const query = useList(evaluations.results, page_query, { params: { id: dataset_id, run_id } });
  const { refetch } = query;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the last results may have been read before the end
  useEffect(() => void refetch(), [status, refetch]);
  return (
    <Section title="Results">
      <Group>
        <NativeSelect
          label="Status"
          size="xs"
          value={filters.status ?? ''}
          onChange={(event) => set('status', event.currentTarget.value)}
          data={[{ value: '', label: 'any' }, ...RESULT_STATUSES]}
        />
      </Group>
      <Listed query={query} label="results" empty={<Empty>No item has this status.</Empty>}>
        {(items) => (
          <Stack gap="xs" role="group" aria-label="results">
            {items.map((result) => (
              <Result key={result.item_id} result={result} />
            ))}
          </Stack>
        )}
      </Listed>
    </Section>
  );
}

const findReason = ({ grades, error }: EvaluationResult) => error ?? grades.find(({ passed }) => !passed)?.reason ?? null;

function Result({ result }: { result: EvaluationResult }) {
  const { prompt, status, task_id } = result;
  const reason = findReason(result);
  return (
    <details className="call">
      <summary>
        <Status of={status} />
        <span className="args said">{prompt.slice(0, SHORT)}</span>
        {reason && <span className="args">{reason.slice(0, SHORT)}</span>}
      </summary>
      <div>
        <Labelled label="Prompt">
          <Code label="Prompt">{prompt}</Code>
        </Labelled>
        <Answers result={result} />
        <Grades result={result} />
        {task_id && status !== 'pending' && (
          <Anchor component={Link} to={`/tasks/${task_id}`}>
            Open the run
          </Anchor>
        )}
      </div>
    </details>
  );
}

/** Shows the expected and the actual answer; for a wrong answer, also their difference. */
function Answers({ result: { status, expected, answer } }: { result: EvaluationResult }) {
  const renderValue = (label: string, value: unknown) =>
    value === null || value === undefined ? null : (
      <Labelled label={label}>
        <Code label={label}>{value}</Code>
      </Labelled>
    );
  return (
    <>
      {renderValue('Expected answer', expected)}
      {renderValue('Answer', answer)}
      {status === 'failed' && expected !== null && expected !== undefined && (
        <Labelled label="From the expected answer to the given one">
          <TextDiff before={textToCompare(expected)} after={textToCompare(answer)} label="Difference of the answer" />
        </Labelled>
      )}
    </>
  );
}

function Grades({ result: { grades, error } }: { result: EvaluationResult }) {
  return (
    <Stack gap={4}>
      {error && <Text>{error}</Text>}
      {withIndex(grades).map(([key, { grader, passed, reason, score, task_id }]) => (
        <div key={key}>
          <Status of={passed ? 'passed' : 'failed'}>{grader.replaceAll('_', ' ')}</Status>
          {score !== undefined && <Text size="sm">Score {score}</Text>}
          {reason && <Text size="sm">{reason}</Text>}
          {task_id && (
            <Anchor component={Link} to={`/tasks/${task_id}`} size="sm">
              Open the judge's run
            </Anchor>
          )}
        </div>
      ))}
    </Stack>
  );
}

/** Adds each grade's index, which is that of its grader. */
const withIndex = <T,>(items: readonly T[]) => items.map((item, index) => [index, item] as const);
