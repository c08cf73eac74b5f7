import { Button, Group } from '@mantine/core';
import { runBundles } from '../../contracts/run-bundles.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useAct } from '../api/queries.ts';
import { Confirm } from '../ui/confirm.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { AddToDataset } from './add-to-dataset.tsx';
import { CompareButton } from './compare-button.tsx';
import { ForkButton } from './fork.tsx';
import { RunAgain } from './run-again.tsx';
import { ScoreButton } from './scores.tsx';

export function RunActions({ task, status }: { task: Task; status: string }) {
  const halt = useAct(tasks.stop);
  return (
    <Group gap="xs">
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
      {!isTerminal(status) && (
        <Confirm
          label={halt.isSuccess ? 'Halting' : 'Halt'}
          title="Halt this run?"
          disabled={halt.isSuccess}
          needs={halt.needs}
          act={() => halt.mutateAsync({ params: { id: task.id } })}
          problem={halt.error}
          busy={halt.isPending}
        >
          It ends within seconds and keeps its text and its usage. A tool call in progress is stopped, and may have taken effect.
          A halted run cannot continue, but you can fork it.
        </Confirm>
      )}
    </Group>
  );
}
