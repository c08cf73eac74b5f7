import { Button, FileInput, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { z } from 'zod';
import { datasets } from '../../contracts/datasets.ts';
import { useAct } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { parseJson } from '../ui/json.ts';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { ExpectedField, useExpected } from './expected.tsx';

interface FormProps {
  dataset_id: string;
  close(): void;
}

export function AddItem({ dataset_id }: { dataset_id: string }) {
  return (
    <DialogButton label="Add item" title="Add an item" size="lg" needs={datasets.addItem.access}>
      {(close) => <ItemForm dataset_id={dataset_id} close={close} />}
    </DialogButton>
  );
}

function ItemForm({ dataset_id, close }: FormProps) {
  const add = useAct(datasets.addItem);
  const is_sent = add.isPending || add.isSuccess;
  const [prompt, setPrompt] = useState('');
  const expected = useExpected(null, is_sent);
  useUnsaved(prompt.trim() !== '' && !is_sent);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const answer = expected.read();
    if (answer === undefined) return;
    add.mutate({ params: { id: dataset_id }, body: { prompt, expected: answer } }, { onSuccess: close });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Textarea
          label="Prompt"
          autosize
          minRows={2}
          maxRows={16}
          value={prompt}
          onChange={(event) => setPrompt(event.currentTarget.value)}
          data-autofocus
        />
        <ExpectedField expected={expected} />
        <Failure problem={add.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!prompt.trim()} loading={add.isPending} data-needs={add.needs}>
            Add
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

export function ImportItem({ dataset_id }: { dataset_id: string }) {
  return (
    <DialogButton label="Import bundle" title="Import the run of a bundle as an item" needs={datasets.importBundle.access}>
      {(close) => <ImportForm dataset_id={dataset_id} close={close} />}
    </DialogButton>
  );
}

type Bundle = z.input<typeof datasets.importBundle.body>;

function ImportForm({ dataset_id, close }: FormProps) {
  const act = useAct(datasets.importBundle);
  const [file, setFile] = useState<File | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  useUnsaved(file !== null && !act.isPending && !act.isSuccess);
  const send = async () => {
    const read = parseJson(await file!.text());
    setWrong('wrong' in read ? read.wrong : null);
    if ('value' in read) act.mutate({ params: { id: dataset_id }, body: read.value as Bundle }, { onSuccess: close });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Stack>
        <FileInput
          label="Bundle"
          description="A run as one file, from “Download bundle” on its page, also of another installation."
          placeholder="Choose a file"
          accept=".json,application/json"
          value={file}
          onChange={setFile}
          error={wrong}
          data-autofocus
        />
        <Failure problem={act.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!file} loading={act.isPending} data-needs={act.needs}>
            Import
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
