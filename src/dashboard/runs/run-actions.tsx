import { Button, Group } from '@mantine/core';
import { runBundles } from '../../contracts/run-bundles.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useAct } from '../api/queries.ts';
import { DownloadButton } from '../ui/download.tsx';
import { Failure } from '../ui/states.tsx';
import { AddToDataset } from './add-to-dataset.tsx';
import { CompareButton } from './compare-button.tsx';
import { ForkButton } from './fork.tsx';
import { RunAgain } from './run-again.tsx';
import { ScoreButton } from './scores.tsx';

export function RunActions({ task, status }: { task: Task; status: string }) {
  const halt = useAct(tasks.stop);
  return (
    <>
      <Group gap="xs">
        {!isTerminal(status) && (
          <Button
            color="red"
            loading={halt.isPending}
            data-needs={halt.needs}
            disabled={halt.isSuccess}
            onClick={() => halt.mutate({ params: { id: task.id } })}
          >
            {halt.isSuccess ? 'Halting …' : 'Halt'}
          </Button>
        )}
        <RunAgain task={task} />
        {task.steps > 0 && <ForkButton task={task} />}
        <CompareButton task={task} />
        <ScoreButton task_id={task.id} />
        {isTerminal(status) && <AddToDataset task={task} />}
        <DownloadButton
          variant="default"
          name={`run-${task.id}.json`}
          endpoint={runBundles.get}
          input={{ params: { id: task.id } }}
        >
          Download bundle
        </DownloadButton>
        {task.engine_run_url && (
          <Button component="a" variant="default" href={task.engine_run_url} target="_blank" rel="noreferrer noopener">
            Temporal UI ↗
          </Button>
        )}
      </Group>
      <Failure problem={halt.error} />
    </>
  );
}
