import { notifications } from '@mantine/notifications';
import { useMemo } from 'react';
import { useAct } from '../api/queries.ts';
import { GuardedDialog } from '../ui/unsaved.tsx';
import { CATALOG } from './catalog.tsx';
import type { CreateDialogProps } from './creating.ts';
import { type Field, presetFields, toFields, type Values } from './fields.ts';
import { ResourceForm, useForm } from './form.tsx';
import { KINDS } from './references.ts';
import type { ResourceScreen, Stored } from './resource.ts';

interface FieldsProps {
  resource: ResourceScreen;
  fields: Field[];
  place: string;
  submit(values: Values): Promise<Values>;
}

/** The create form of a resource, in a dialog above the form that refers to it. */
export default function CreateDialog({ kind, name, close, onCreated: created }: CreateDialogProps) {
  // A picker offers no new record of a kind that has no screen.
  const { slug, by } = KINDS[kind];
  const resource = CATALOG[slug!]!;
  const { noun, create, overrides, endpoints } = resource;
  const act = useAct(endpoints.create);
  const fields = useMemo(() => presetFields(toFields(create, overrides), { name }), [create, overrides, name]);
  const submit = async (values: Values) => {
    const record = (await act.mutateAsync({ body: values })) as Stored;
    notifications.show({ message: `The ${noun} was created.`, color: 'green' });
    created(record[by]);
    close();
    return record;
  };
  return (
    <GuardedDialog opened onClose={close} title={`New ${noun}`} size="lg">
      <CreateFields fields={fields} place={`dialog:${slug}:${name}`} resource={resource} submit={submit} />
    </GuardedDialog>
  );
}

/** Shows the fields. They are inside the dialog, because the form reports to it whether it has text that no draft keeps. */
function CreateFields({ resource: { noun, groups, Extra, Fill, endpoints }, fields, place, submit }: FieldsProps) {
  const form = useForm({ fields, record: null, place, submit });
  const needs = endpoints.create.access;
  return <ResourceForm form={form} groups={groups} submit={`Create ${noun}`} needs={needs} Extra={Extra} Fill={Fill} />;
}
