import { Button, Group, NumberInput, Radio, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type Score, scores } from '../../contracts/scores.ts';
import { useAct, useList, useRead } from '../api/queries.ts';
import { type Column, ListTable } from '../ui/list.tsx';
import { Status } from '../ui/show.tsx';
import { Empty, Failure } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

const SHOWN = 3;

const formatScore = ({ thumb, value }: Score) => (thumb ? `thumb ${thumb}` : `${value}`);

/** Returns the newest scores of a run in a few words; null if it has none. */
export function useScored(task_id: string): string | null {
  const { data } = useRead(scores.list, { params: { id: task_id }, query: { limit: SHOWN } });
  if (!data || data.total === 0) return null;
  const more = data.total - data.items.length;
  return `${data.items.map(formatScore).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Adds a score to a run, and lists those that it has. */
export function ScoreRun({ task_id }: { task_id: string }) {
  return (
    <Stack>
      <ScoreForm task_id={task_id} />
      <Scores task_id={task_id} />
    </Stack>
  );
}

const KINDS = { up: 'Thumb up', down: 'Thumb down', value: 'A number' };

function ScoreForm({ task_id }: { task_id: string }) {
  const score = useAct(scores.create);
  const [kind, setKind] = useState<keyof typeof KINDS | ''>('');
  const [value, setValue] = useState<number | string>('');
  const [note, setNote] = useState('');
  useUnsaved((value !== '' || note.trim() !== '') && !score.isPending);
  const complete = kind === 'value' ? value !== '' : kind !== '';
  const clear = () => {
    setKind('');
    setValue('');
    setNote('');
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const score_fields = kind === 'value' ? { value: Number(value) } : { thumb: kind as 'up' | 'down' };
    score.mutate({ params: { id: task_id }, body: { ...score_fields, note: note.trim() } }, { onSuccess: clear });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Radio.Group label="Score" value={kind} onChange={(chosen) => setKind(chosen as keyof typeof KINDS)}>
          <Group mt={4}>
            {Object.entries(KINDS).map(([name, label]) => (
              <Radio key={name} value={name} label={label} />
            ))}
          </Group>
        </Radio.Group>
        {kind === 'value' && (
          <NumberInput label="Number" description="On any scale, the same for all runs." value={value} onChange={setValue} />
        )}
        <Textarea
          label="Note (optional)"
          autosize
          minRows={2}
          maxRows={8}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <Failure problem={score.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!complete} loading={score.isPending} data-needs={score.needs}>
            Save score
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Lists the scores so far. Only its owner sees a run, so all of them are the viewer's own. */
function Scores({ task_id }: { task_id: string }) {
  const query = useList(scores.list, { limit: 20 }, { params: { id: task_id } });
  const remove = useAct(scores.remove);
  const renderDelete = (score: Score) => (
    <Button
      variant="default"
      size="compact-xs"
      aria-label={`Delete ${formatScore(score)}`}
      loading={remove.isPending && remove.variables?.params?.score_id === score.id}
      data-needs={remove.needs}
      onClick={() => remove.mutate({ params: { id: task_id, score_id: score.id } })}
    >
      Delete
    </Button>
  );
  const columns = [...scoreColumns, { label: 'Delete', is_obvious: true, show: renderDelete }];
  return (
    <>
      <Failure problem={remove.error} />
      <ListTable query={query} columns={columns} label="scores" empty={<Empty>No scores yet.</Empty>} />
    </>
  );
}

const TONES = { up: 'good', down: 'bad', none: 'quiet' } as const;

export const scoreColumns: Column<Score>[] = [
  { label: 'Score', show: (score) => <Status of={formatScore(score)} tone={TONES[score.thumb ?? 'none']} /> },
  { label: 'Note', className: 'wrapped', show: ({ note }) => note || '—' },
  { label: 'Given', show: ({ created_at }) => <When at={created_at} /> },
];
