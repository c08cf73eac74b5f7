import { useParams } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { toRunInput } from './run-figures.ts';
import { nameRun } from './run-name.ts';
import { RunView } from './run-view.tsx';
import { WaitingRuns } from './waiting-runs.tsx';

export default function TaskPage() {
  const { id = '' } = useParams();
  const query = useRead(tasks.get, toRunInput(id));
  return (
    <Page
      title={query.data ? nameRun(query.data) : 'Run'}
      parent={{ to: '/tasks', title: 'Tasks' }}
      actions={<WaitingRuns task_id={id} />}
    >
      <Loaded query={query} what="Loading the run">
        {(task) => <RunView key={task.id} task={task} own_page />}
      </Loaded>
    </Page>
  );
}
