import { Button, Fieldset, Group, Stack } from '@mantine/core';
import { type ComponentType, type FormEvent, type RefObject, useRef, useState } from 'react';
import type { Problem } from '../api/call.ts';
import { Failure } from '../ui/states.tsx';
import { Control } from './controls.tsx';
import type { Field, Values } from './fields.ts';
import { changesOf, type FieldFault, toControls, toWire } from './values.ts';

export interface FieldGroup {
  title: string;
  fields: string[];
}

interface FormProps {
  fields: Field[];
  groups?: FieldGroup[] | undefined;
  /** Null for a new one. */
  record: Values | null;
  submit: string;
  Extra?: ComponentType<{ values: Values }> | undefined;
  /** Sends the values, or what has changed of them; answers with what is stored then. */
  onSubmit(values: Values): Promise<unknown>;
}

/** A form over the fields of a contract. What the service refuses is told at the field. */
export function ResourceForm({ fields, groups = [], record, submit, Extra, onSubmit }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { controls, setControls, faults, problem, busy, send } = useForm({ fields, record, onSubmit, form });
  const control = (field: Field) => (
    <Control
      key={field.name}
      field={field}
      values={controls}
      path={field.name}
      faults={faults}
      disabled={record !== null && field.fixed === true}
      onChange={(value) => setControls((held) => ({ ...held, [field.name]: value }))}
    />
  );
  const named = (name: string) => fields.filter((field) => field.name === name);
  const grouped = new Set(groups.flatMap((group) => group.fields));
  return (
    <form ref={form} onSubmit={(event) => void send(event)} noValidate>
      <Stack maw="46rem">
        {groups.map(({ title, fields: names }) => (
          <Fieldset key={title} legend={title}>
            <Stack gap="sm">{names.flatMap(named).map(control)}</Stack>
          </Fieldset>
        ))}
        {fields.filter(({ name }) => !grouped.has(name)).map(control)}
        {Extra && <Extra values={controls} />}
        {problem && <Failure problem={withPaths(problem, fields)} />}
        <Group>
          <Button type="submit" size="sm" loading={busy}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type FormState = Pick<FormProps, 'fields' | 'record' | 'onSubmit'> & { form: RefObject<HTMLFormElement | null> };

function useForm({ fields, record, onSubmit, form }: FormState) {
  const [controls, setControls] = useState(() => toControls(fields, record));
  const [before, setBefore] = useState(() => (record ? toWire(fields, controls).values : null));
  const [faults, setFaults] = useState<readonly FieldFault[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);

  const showFaults = (found: readonly FieldFault[]) => {
    setFaults(found);
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  /** What the service made of the values, such as what it infers from one of them. */
  const showStored = (stored: Values) => {
    const fresh = toControls(fields, stored);
    setControls(fresh);
    setBefore(toWire(fields, fresh).values);
  };
  async function send(event: FormEvent) {
    event.preventDefault();
    event.stopPropagation();
    const { values, faults: own } = toWire(fields, controls);
    setProblem(null);
    if (own.length > 0) return showFaults(own);
    setBusy(true);
    try {
      const stored = await onSubmit(before ? changesOf(before, values) : values);
      if (before) showStored({ ...values, ...(stored as Values) });
      setFaults([]);
    } catch (error) {
      showFaults((error as Problem).errors ?? []);
      setProblem(error as Problem);
    }
    setBusy(false);
  }
  return { controls, setControls, faults, problem, busy, send };
}

/** Faults of no field of the form are told with the problem. */
function withPaths(problem: Problem, fields: Field[]): Problem {
  const homeless = problem.errors.filter(({ path }) => !fields.some(({ name }) => name === path.split('.')[0]));
  const told = homeless.map(({ path, message }) => `${path}: ${message}`).join('. ');
  return told ? Object.assign(Object.create(problem), { message: `${problem.message} ${told}` }) : problem;
}
