import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import { datasets } from '../../contracts/datasets.ts';
import type { Task } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { ExpectedField, useExpected } from '../datasets/expected.tsx';
import { Picker } from '../resources/pickers.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

/** Creates an item from a run: its prompt, its answer as the expected one, and the results of its tool calls. */
export function AddToDataset({ task }: { task: Task }) {
  return (
    <DialogButton label="Add to dataset" title="Add this run to a dataset" size="lg" needs={datasets.addItem.access}>
      {(close) => <AddToDatasetForm task={task} close={close} />}
    </DialogButton>
  );
}

export function AddToDatasetForm({ task: { id: task_id, response, attachments }, close }: { task: Task; close(): void }) {
  const add = useAct(datasets.addItem);
  const [dataset_id, setDataset] = useState<string | null>(null);
  const is_sent = add.isPending || add.isSuccess;
  const expected = useExpected(response, is_sent);
  useUnsaved(dataset_id !== null && !is_sent);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const answer = expected.read();
    if (answer === undefined || !dataset_id) return;
    add.mutate({ params: { id: dataset_id }, body: { task_id, ...(expected.changed && { expected: answer }) } });
  };
  if (add.data) return <Added dataset_id={add.data.dataset_id} close={close} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>The item gets the prompt of the run and the results of its tool calls. The run may be deleted later.</Text>
        {attachments.length > 0 && <Text>Items have no files: an evaluation sends the prompt without those of the run.</Text>}
        <Picker kind="dataset" label="Dataset" value={dataset_id} onChange={setDataset} required data-autofocus />
        <ExpectedField expected={expected} />
        <Failure problem={add.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!dataset_id} loading={add.isPending} data-needs={add.needs}>
            Add
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Added({ dataset_id, close }: { dataset_id: string; close(): void }) {
  return (
    <Stack>
      <Text role="status">The run was added.</Text>
      <Group justify="flex-end">
        <Anchor component={Link} to={`/datasets/${dataset_id}`}>
          Open the dataset
        </Anchor>
        <Button onClick={close} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  );
}
