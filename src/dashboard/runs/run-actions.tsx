import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Columns2, DatabaseZap, Download, GitFork, Pencil, RotateCw, Star } from 'lucide-react';
import { useNavigate } from 'react-router';
import { datasets } from '../../contracts/datasets.ts';
import { runBundles } from '../../contracts/run-bundles.ts';
import { scores } from '../../contracts/scores.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useAct } from '../api/queries.ts';
import { saveText } from '../ui/download.tsx';
import { FailureBelow } from '../ui/states.tsx';
import { AddToDataset } from './add-to-dataset.tsx';
import { CompareWith } from './compare-with.tsx';
import { ForkForm } from './fork.tsx';
import { toPromptBody } from './resent.ts';
import { RunWithChanges } from './run-again.tsx';
import { type MenuAction, MoreActions } from './run-menu.tsx';
import { ScoreRun } from './scores.tsx';

interface ActionsProps {
  task: Task;
  status: string;
  own_page?: boolean;
}

/** The actions on a run: the first one of a run that has ended is to run it again. *Halt* is on the line *Now*, away from it. */
export function RunActions({ task, status, own_page = false }: ActionsProps) {
  const navigate = useNavigate();
  const open = (task_id: string) => void navigate(`/tasks/${task_id}`);
  const send = useAct(workflows.prompt);
  const again = () =>
    send.mutate({ params: { id: task.workflow_id }, body: toPromptBody(task) }, { onSuccess: ({ task_id }) => open(task_id) });
  const download = useDownload(task.id);
  const ended = isTerminal(status);
  const more = [listRuns(task, open), listReviews(task, ended), [save(download.mutate)]];
  if (!ended) more[0]!.unshift({ label: RUN_AGAIN, icon: RotateCw, needs: send.needs, does: again });
  return (
    <div className="run-actions">
      {ended && (
        <Button
          variant={own_page ? 'filled' : 'default'}
          leftSection={<RotateCw size={14} aria-hidden />}
          loading={send.isPending}
          data-needs={send.needs}
          onClick={again}
        >
          {RUN_AGAIN}
        </Button>
      )}
      <MoreActions groups={more} busy={download.isPending || (!ended && send.isPending)} />
      <FailureBelow problem={send.error ?? download.error} />
    </div>
  );
}

const RUN_AGAIN = 'Run again';

/** What starts another run, or leads to others. */
export function listRuns(task: Task, open: (task_id: string) => void): MenuAction[] {
  return [
    {
      label: 'Run again with changes',
      icon: Pencil,
      needs: workflows.prompt.access,
      does: { title: 'Run again with changes', size: 'lg', content: () => <RunWithChanges task={task} onSent={open} /> },
    },
    ...(task.steps > 0
      ? [
          {
            label: 'Fork',
            icon: GitFork,
            needs: tasks.fork.access,
            does: { title: 'Fork this run', content: () => <ForkForm task={task} step={1} /> },
          },
        ]
      : []),
    {
      label: 'Compare with',
      icon: Columns2,
      needs: tasks.list.access,
      does: { title: 'Compare this run with others', content: () => <CompareWith task={task} /> },
    },
  ];
}

/** What people say about a run. */
export function listReviews(task: Task, ended: boolean): MenuAction[] {
  const score: MenuAction = {
    label: 'Score',
    icon: Star,
    needs: scores.create.access,
    does: { title: 'Score this run', size: 'lg', content: () => <ScoreRun task_id={task.id} /> },
  };
  const add: MenuAction = {
    label: 'Add to dataset',
    icon: DatabaseZap,
    needs: datasets.addItem.access,
    does: { title: 'Add this run to a dataset', size: 'lg', content: (close) => <AddToDataset task={task} close={close} /> },
  };
  return ended ? [score, add] : [score];
}

const save = (does: () => void): MenuAction => ({
  label: 'Download bundle',
  icon: Download,
  needs: runBundles.get.access,
  does,
});

function useDownload(id: string) {
  const { call } = useClient();
  return useMutation<void, ApiProblem>({
    mutationFn: async () => {
      const bundle = await call(runBundles.get, { params: { id } });
      saveText(`run-${id}.json`, JSON.stringify(bundle, null, 2), 'application/json');
    },
  });
}
