import { Text } from '@mantine/core';
import { useParams, useSearchParams } from 'react-router';
import { runInspection } from '../../contracts/run-inspection.ts';
import { tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { toRunInput } from '../runs/run-figures.ts';
import { shortId } from '../runs/run-name.ts';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Bench } from './bench.tsx';

/** The page that tries a step of a run with another prompt, model, tools or messages. */
export default function Playground() {
  const { id = '' } = useParams();
  const [search] = useSearchParams();
  const step = Number(search.get('step')) || 1;
  const task = useRead(tasks.get, toRunInput(id));
  const request = useRead(runInspection.request, { params: { id, step: `${step}` } });
  return (
    <Page
      title={`Playground: step ${step} of ${shortId(id)}`}
      parent={{ to: `/tasks/${id}?view=steps&step=${step}`, title: 'Run' }}
    >
      <Text>
        Change what the model gets at this step and run it. Each trial is a fork of the run: it costs what its model calls cost,
        and the workflow keeps its settings until you save the changes.
      </Text>
      <Loaded query={task} what="Loading the run">
        {(run) => (
          <Loaded query={request} what="Loading the request">
            {(step_request) => <Bench key={`${run.id} ${step_request.step}`} task={run} request={step_request} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}
