import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { runBundles } from '../../contracts/run-bundles.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import type { Problem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useAct } from '../api/queries.ts';
import { download } from '../ui/download.ts';
import { Failure } from '../ui/states.tsx';
import { ForkButton } from './fork.tsx';

const LIVE = ['pending', 'running', 'waiting'];

export function RunActions({ task, status }: { task: Task; status: string }) {
  const halt = useAct(tasks.stop);
  return (
    <>
      <Group gap="xs">
        {LIVE.includes(status) && (
          <Button
            color="red"
            loading={halt.isPending}
            disabled={halt.isSuccess}
            onClick={() => halt.mutate({ params: { id: task.id } })}
          >
            {halt.isSuccess ? 'Halting …' : 'Halt'}
          </Button>
        )}
        {task.steps > 0 && <ForkButton task={task} />}
        <BundleButton task={task} />
        {task.engine_run_url && (
          <Button component="a" variant="default" href={task.engine_run_url} target="_blank" rel="noreferrer noopener">
            Temporal UI ↗
          </Button>
        )}
      </Group>
      {halt.error && <Failure problem={halt.error} />}
    </>
  );
}

function BundleButton({ task }: { task: Task }) {
  const { call } = useClient();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const get = async () => {
    setBusy(true);
    setProblem(null);
    try {
      download(`run-${task.id}.json`, await call(runBundles.get, { params: { id: task.id } }));
    } catch (error) {
      setProblem(error as Problem);
    }
    setBusy(false);
  };
  return (
    <>
      <Button variant="default" loading={busy} onClick={() => void get()}>
        Download bundle
      </Button>
      {problem && <Failure problem={problem} />}
    </>
  );
}
