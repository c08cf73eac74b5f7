import { Button, Fieldset, Group, Radio, Stack } from '@mantine/core';
import { type ComponentType, type FormEvent, type ReactNode, useRef, useState } from 'react';
import type { Scope } from '../../domain/access.ts';
import type { ApiProblem } from '../api/call.ts';
import { HelpButton } from '../help/help-button.tsx';
import { DraftNotice, useDraft, useKeptDraft } from '../ui/draft.tsx';
import { Failure } from '../ui/states.tsx';
import { FieldControl } from './controls.tsx';
import { applyDraft, type FormDraft, findOutdated, toDraft } from './drafts.ts';
import { adaptField, type Field, type Values } from './fields.ts';
import { summarizeFields } from './summary.ts';
import { carryEdits, type FieldFault, nameHomeless, toControls, toWire } from './values.ts';

export interface FieldGroup {
  title: string;
  fields: string[];
  /** True if the group is folded until it is opened: its line names the values that differ from the defaults. */
  folded?: boolean;
  /** The page of the documentation about it, as in `runs#budget`. */
  help?: string;
  /** Sets of fields of which one must be filled in; shown above the group's other fields. */
  either?: { label: string; choices: Record<string, string[]> };
}

/** The props of a component that fills in fields of a new record. */
export interface FillProps {
  values: Values;
  set(name: string, value: unknown): void;
}

interface FormProps {
  form: Form;
  groups?: FieldGroup[] | undefined;
  submit: string;
  /** The scope that sending the form needs. */
  needs: Scope | null;
  Extra?: ComponentType<{ values: Values }> | undefined;
  Fill?: ComponentType<FillProps> | undefined;
  /** Shown above the button. */
  children?: ReactNode;
}

/** A form for the fields of a contract. Errors from the service appear at their field. */
export function ResourceForm({ form, groups = [], submit, needs, Extra, Fill, children }: FormProps) {
  const { fields, element, controls, set, faults, problem, busy, send } = form;
  const control = (whole: Field) => {
    const field = adaptField(whole, controls);
    return (
      field && (
        <FieldControl
          key={field.name}
          field={field}
          values={controls}
          path={field.name}
          faults={faults}
          disabled={form.stored && field.fixed === true}
          onChange={(value) => set(field.name, value)}
        />
      )
    );
  };
  const findFields = (name: string) => fields.filter((field) => field.name === name);
  const grouped = new Set(
    groups.flatMap(({ fields: names, either }) => [...names, ...Object.values(either?.choices ?? {}).flat()]),
  );
  return (
    <form ref={element} onSubmit={(event) => void send(event)} noValidate>
      <Stack maw="46rem">
        <DraftNotice {...form.notice} />
        {Fill && <Fill values={controls} set={set} />}
        {groups.map((group) => (
          <Grouped key={group.title} group={group} form={form} fields={group.fields.flatMap(findFields)}>
            <Stack gap="sm">
              {group.either && <Either {...group.either} form={form} show={(names) => names.flatMap(findFields).map(control)} />}
              {group.fields.flatMap(findFields).map(control)}
            </Stack>
          </Grouped>
        ))}
        {fields.filter(({ name }) => !grouped.has(name)).map(control)}
        {Extra && <Extra values={controls} />}
        {problem && <Failure problem={withPaths(problem, fields)} />}
        {children}
        <Group className="form-actions">
          <Button type="submit" size="sm" loading={busy} data-needs={needs}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface GroupedProps {
  group: FieldGroup;
  form: Form;
  fields: Field[];
  children: ReactNode;
}

function Grouped({ group: { title, folded, help }, form, fields, children }: GroupedProps) {
  const help_button = help && <HelpButton place={help} about={title} />;
  if (folded)
    return (
      <Folded title={title} form={form} fields={fields}>
        {help_button}
        {children}
      </Folded>
    );
  const legend = (
    <>
      {title} {help_button}
    </>
  );
  return <Fieldset legend={legend}>{children}</Fieldset>;
}

interface FoldedProps extends Omit<GroupedProps, 'group'> {
  title: string;
}

/** A group that is closed at first. It opens if one of its fields has an error. */
function Folded({ title, form: { controls, faults }, fields, children }: FoldedProps) {
  const [opened, setOpened] = useState(false);
  const faulty = fields.some(({ name }) => faults.some(({ path }) => path === name || path.startsWith(`${name}.`)));
  return (
    <details className="fold" open={opened || faulty} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong> <span className="note">{summarizeFields(fields, controls)}</span>
      </summary>
      <Fieldset variant="unstyled" aria-label={title}>
        {children}
      </Fieldset>
    </details>
  );
}

interface EitherProps {
  label: string;
  choices: Record<string, string[]>;
  form: Form;
  show(names: string[]): ReactNode;
}

/** Chooses between sets of fields. Choosing one empties the nullable fields of the others. */
function Either({ label, choices, form: { fields, controls, set }, show }: EitherProps) {
  const [chosen, setChosen] = useState(Object.keys(choices)[0]!);
  const emptied = fields.filter(({ nullable }) => nullable).map(({ name }) => name);
  const isFilled = (name: string) => emptied.includes(name) && !['', null].includes(controls[name] as string | null);
  const current = Object.keys(choices).find((choice) => choices[choice]?.some(isFilled)) ?? chosen;
  const choose = (choice: string) => {
    setChosen(choice);
    for (const [other, names] of Object.entries(choices))
      if (other !== choice) for (const name of names.filter((one) => emptied.includes(one))) set(name, '');
  };
  return (
    <>
      <Radio.Group label={label} value={current} onChange={choose}>
        <Group mt="xs">
          {Object.keys(choices).map((choice) => (
            <Radio key={choice} value={choice} label={choice} />
          ))}
        </Group>
      </Radio.Group>
      {show(choices[current]!)}
    </>
  );
}

const ALERT = '[role="alert"]';

interface FormFacts {
  fields: Field[];
  /** The record; null for a new one. */
  record: Values | null;
  /** The place whose draft the form keeps. */
  place: string;
  /** Sends the values; resolves to undefined if nothing was saved. The form then shows the saved record. */
  submit(values: Values): Promise<Values | undefined>;
}

type Form = ReturnType<typeof useForm>;

export function useForm({ fields, record, place, submit }: FormFacts) {
  const element = useRef<HTMLFormElement>(null);
  const draft = useDraft<FormDraft>(place);
  const restored = draft.restored?.typed ?? null;
  const [clean, setClean] = useState(() => toControls(fields, record));
  const [controls, setControls] = useState(() => applyDraft(fields, clean, restored));
  const [faults, setFaults] = useState<readonly FieldFault[]>([]);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);

  /** After the form has rendered, focuses the first selector that matches. */
  const focus = (...selectors: string[]) => {
    const findFirst = () => selectors.map((selector) => element.current?.querySelector<HTMLElement>(selector)).find(Boolean);
    setTimeout(() => findFirst()?.focus());
  };
  const showFaults = (new_faults: readonly FieldFault[]) => {
    setFaults(new_faults);
    focus('[aria-invalid="true"]', ALERT);
  };
  /** Shows another state of the record, except in controls that differ from `before`: the user has edited them since. */
  const carry = (before: Values, stored: Values) => {
    setControls((previous) => carryEdits(previous, before, toControls(fields, stored)));
    setClean(toControls(fields, stored));
  };
  const { typed, missing } = toDraft(fields, { controls, clean, restored });
  useKeptDraft(draft, typed, { holds_more: missing.length > 0, sending: busy });

  async function send(event: FormEvent) {
    event.preventDefault();
    event.stopPropagation();
    const { values, faults: own } = toWire(fields, controls);
    setProblem(null);
    if (own.length > 0) return showFaults(own);
    setBusy(true);
    try {
      const stored = await submit(values);
      if (stored) draft.remove();
      // The reply can contain more than was sent, such as a value that the service inferred.
      if (stored) carry(controls, stored);
      else focus(ALERT);
      setFaults([]);
    } catch (error) {
      showFaults((error as ApiProblem).errors);
      setProblem(error as ApiProblem);
    }
    setBusy(false);
  }
  return {
    fields,
    element,
    controls,
    faults,
    problem,
    busy,
    notice: {
      draft,
      missing: restored?.missing ?? [],
      outdated: findOutdated(fields, clean, restored),
      discard: () => setControls(clean),
    },
    send,
    carry,
    stored: record !== null,
    set: (name: string, value: unknown) => {
      // What was chosen for another value of the field may not be one of its choices.
      const emptied = fields.filter(({ by }) => by?.field === name).map((field) => [field.name, '']);
      setControls((previous) => ({ ...previous, ...Object.fromEntries(emptied), [name]: value }));
    },
    show: (stored: Values) => {
      setControls(toControls(fields, stored));
      setClean(toControls(fields, stored));
    },
    focusSubmit: () => focus('[type="submit"]'),
  };
}

/** Adds the errors that belong to no field of the form to the message of the problem. */
const withPaths = (problem: ApiProblem, fields: Field[]): ApiProblem =>
  Object.assign(Object.create(problem), { message: nameHomeless(problem, fields) });
