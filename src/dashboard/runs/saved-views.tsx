import { Button, Group, Stack, TextInput } from '@mantine/core';
import { Bookmark } from 'lucide-react';
import { useState } from 'react';
import { me, type SavedView } from '../../contracts/me.ts';
import { useAct, useRead } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

const SCREEN = 'tasks';

interface SavedViewsProps {
  filters: Record<string, string>;
  /** Replaces all filters. */
  replace(filters: Record<string, string>): void;
}

/** The person's saved views of the list: filters and order under a name. */
export function SavedViews({ filters, replace }: SavedViewsProps) {
  const settings = useRead(me.settings);
  const save = useAct(me.changeSettings, { line: 'views' });
  const views = settings.data?.views;
  const has_filters = Object.keys(filters).length > 0;
  if (!views || (views.length === 0 && !has_filters)) return null;
  const same = ({ query }: SavedView) => serializeQuery(query) === serializeQuery(filters);
  const current_view = views.find(same);
  return (
    <Stack gap="xs">
      <Group gap={6} role="group" aria-label="Saved views" className="views">
        {views.map((view) => (
          <Button
            key={view.name}
            size="compact-sm"
            leftSection={<Bookmark size={13} aria-hidden />}
            variant={view === current_view ? 'light' : 'default'}
            aria-pressed={view === current_view}
            onClick={() => replace(view === current_view ? {} : view.query)}
          >
            {view.name}
          </Button>
        ))}
        {has_filters && !current_view && (
          <DialogButton label="Save this view" title="Save this view" needs={save.needs}>
            {(close) => <NameForm views={views} filters={filters} close={close} />}
          </DialogButton>
        )}
        {current_view && (
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            loading={save.isPending}
            data-needs={save.needs}
            onClick={() => save.mutate({ body: { views: views.filter((view) => view !== current_view) } })}
          >
            {`Delete the view ${current_view.name}`}
          </Button>
        )}
      </Group>
      <Failure problem={save.error} />
    </Stack>
  );
}

const serializeQuery = (query: Record<string, string>) => JSON.stringify(Object.entries(query).sort());

function NameForm({ views, filters, close }: { views: SavedView[]; filters: Record<string, string>; close(): void }) {
  const save = useAct(me.changeSettings, { line: 'views' });
  const [name, setName] = useState('');
  useUnsaved(name.trim() !== '' && !save.isPending && !save.isSuccess);
  const view = { screen: SCREEN, name: name.trim(), query: filters } as const;
  const send = () => save.mutateAsync({ body: { views: [...views.filter((one) => one.name !== view.name), view] } });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send().then(close, () => {
          // The form shows the problem.
        });
      }}
    >
      <Stack>
        <TextInput
          label="Name"
          description="A view of the same name is replaced."
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Failure problem={save.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={view.name === ''} loading={save.isPending} data-needs={save.needs}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
