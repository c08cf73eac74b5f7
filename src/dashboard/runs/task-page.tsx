import { useParams } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { toRunInput } from './run-head.tsx';
import { RunView } from './run-view.tsx';

export default function TaskPage() {
  const { id = '' } = useParams();
  const query = useRead(tasks.get, toRunInput(id));
  const title = query.data ? `Run of ${query.data.workflow_title ?? query.data.agent_name}` : 'Run';
  return (
    <Page title={title} parent={{ to: '/tasks', title: 'Tasks' }}>
      <Loaded query={query} what="Loading the run">
        {(task) => <RunView key={task.id} task={task} />}
      </Loaded>
    </Page>
  );
}
