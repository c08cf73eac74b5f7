import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { me } from '../../contracts/me.ts';
import { type ApiProblem, requestUrl } from '../api/call.ts';
import { useRead } from '../api/queries.ts';
import { Code, Labelled } from '../ui/show.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { type Field, listChangeableFields, type Values } from './fields.ts';
import { ResourceForm, useForm } from './form.tsx';
import { usePorts } from './ports.ts';
import type { EditableScreen, Stored } from './resource.ts';
import { toControls } from './values.ts';
import { type Conflict, type Ports, saveOver, type Version } from './versions.ts';

interface EditProps {
  resource: EditableScreen;
  id: string;
}

/** The edit form of a stored record. */
export function EditForm({ resource, id }: EditProps) {
  const ports = usePorts(resource, id);
  const { data: caller } = useRead(me.get);
  const place = requestUrl(resource.endpoints.get, { params: { id } });
  const query = useQuery<Version, ApiProblem>({ queryKey: [resource.endpoints.get.operation, 'form', id], queryFn: ports.read });
  return (
    <Loaded query={query}>
      {(version) => {
        const reason = resource.readonly?.(version.value as Stored, caller);
        return reason ? <Empty>{reason}</Empty> : <Edit resource={resource} ports={ports} version={version} place={place} />;
      }}
    </Loaded>
  );
}

interface EditorProps {
  resource: EditableScreen;
  ports: Ports;
  version: Version;
  /** The place whose draft the form keeps. */
  place: string;
}

function Edit({ resource, ports, version, place }: EditorProps) {
  const { noun, create, update, overrides, groups, Extra } = resource;
  const fields = useMemo(() => listChangeableFields(create, update, overrides), [create, update, overrides]);
  const [base, setBase] = useState(version);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const submit = async (values: Values) => {
    setConflict(null);
    const outcome = await saveOver({ fields, base, values, ports });
    if ('conflict' in outcome) return void setConflict(outcome.conflict);
    const { saved, kept } = outcome;
    const also = kept.length > 0 ? ` Changes by others were kept: ${formatLabels(kept)}.` : '';
    notifications.show({ message: `The ${noun} was saved.${also}`, color: 'green' });
    setBase(saved);
    return saved.value;
  };
  const form = useForm({ fields, record: version.value, place, submit });
  const controlValues = toControls(fields, base.value);
  const untouched = !form.busy && JSON.stringify(form.controls) === JSON.stringify(controlValues);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a newer state is shown when it comes, if nothing has been typed
  useEffect(() => {
    if (!untouched) return;
    setBase(version);
    form.show(version.value);
  }, [version]);
  /** Shows the newer state, except for what differs from `before`. */
  const resolve = (newer: Version, before: Values) => {
    form.carry(before, newer.value);
    setBase(newer);
    setConflict(null);
    form.focusSubmit();
  };
  return (
    <ResourceForm form={form} groups={groups} submit="Save changes" needs={resource.endpoints.update.access} Extra={Extra}>
      {conflict && (
        <ChangedMeanwhile
          conflict={conflict}
          load={() => resolve(conflict.newer, form.controls)}
          keep={() => resolve(conflict.newer, controlValues)}
        />
      )}
    </ResourceForm>
  );
}

const formatLabels = (fields: Field[]) => fields.map(({ label }) => label).join(', ');

interface ChangedProps {
  conflict: Conflict;
  load(): void;
  keep(): void;
}

/** Asks which state to keep. Nothing is lost until the user chooses. */
export function ChangedMeanwhile({ conflict: { newer, fields }, load, keep }: ChangedProps) {
  return (
    <Alert color="yellow" variant="outline" role="alert" tabIndex={-1}>
      <Stack gap="xs" align="flex-start">
        <Text fw={600}>Not saved: someone else changed the same fields</Text>
        <Text>Changed while you edited: {formatLabels(fields)}. What you typed is still in the form.</Text>
        {fields.map(({ name, label, control }) => (
          <Labelled key={name} label={`${label}, stored value`}>
            {control === 'secret' ? (
              <Text>A different value</Text>
            ) : (
              <Code label={`${label} as stored`}>{newer.value[name]}</Code>
            )}
          </Labelled>
        ))}
        <Text>
          Load the newer state to discard what you typed. Or keep what you typed, and save again to overwrite the newer state.
        </Text>
        <Group gap="xs">
          <Button onClick={load}>Load the newer state</Button>
          <Button variant="default" onClick={keep}>
            Keep what I typed
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
