import {
  type ComboboxItem,
  MultiSelect,
  type MultiSelectProps,
  type OptionsFilter,
  Select,
  type SelectProps,
} from '@mantine/core';
import { type ReactNode, Suspense, use, useState } from 'react';
import { CreateDialogContext, nameNew } from './creating.ts';
import { KINDS, type Kind, type Option, useNames } from './references.ts';

/** The value of the option that creates a record. The leading space keeps it distinct from every id and name. */
const NEW = ' new';
const NOTHING_FOUND = 'No match';

/** Returns the options that match the search, always followed by the option that creates a record. */
const filter: OptionsFilter = ({ options, search }) => {
  const search_text = search.trim().toLowerCase();
  return (options as ComboboxItem[]).filter(({ value, label }) => value === NEW || label.toLowerCase().includes(search_text));
};

interface NewProps<T> {
  options: Option[];
  created(value: string): void;
  onChange(chosen: T): void;
}

/** Adds the last option of a picker and the dialog that it opens. */
function useNew<T extends string[] | string | null>(kind: Kind, { options, created, onChange }: NewProps<T>) {
  const Dialog = use(CreateDialogContext);
  const [search, setSearch] = useState('');
  const [name, setName] = useState<string | null>(null);
  const { noun } = KINDS[kind];
  const offered = Dialog && noun ? [...options, { value: NEW, label: `+ New ${noun} …` }] : options;
  const choose = (chosen: T) =>
    ([chosen].flat() as unknown[]).includes(NEW) ? setName(nameNew(search, options)) : onChange(chosen);
  const dialog: ReactNode = Dialog && name !== null && (
    <Suspense>
      <Dialog kind={kind} name={name} close={() => setName(null)} onCreated={created} />
    </Suspense>
  );
  return { offered, choose, setSearch, dialog };
}

type Given = 'data' | 'value' | 'onChange' | 'filter' | 'searchable' | 'onSearchChange';

interface PickerProps extends Omit<SelectProps, Given> {
  kind: Kind;
  value: string | null;
  onChange(value: string | null): void;
  /** The options, if only some records can be chosen. */
  among?: Option[];
}

/** Chooses a record by its name, or creates one and chooses it. */
export function Picker({ kind, value, onChange, among, placeholder, ...rest }: PickerProps) {
  const { options, loading } = useNames(kind, { enabled: among === undefined });
  const choices = withCurrent(among ?? options, value ? [value] : []);
  const { offered, choose, setSearch, dialog } = useNew(kind, { options: choices, created: onChange, onChange });
  return (
    <>
      <Select
        {...rest}
        placeholder={loading ? 'Loading …' : placeholder || 'Choose …'}
        data={offered}
        value={value}
        onChange={choose}
        onSearchChange={setSearch}
        filter={filter}
        searchable
        nothingFoundMessage={NOTHING_FOUND}
      />
      {dialog}
    </>
  );
}

interface MultiPickerProps extends Omit<MultiSelectProps, Given> {
  kind: Kind;
  value: string[];
  onChange(value: string[]): void;
}

export function MultiPicker({ kind, value, onChange, ...rest }: MultiPickerProps) {
  const { options, loading } = useNames(kind);
  const choices = withCurrent(options, value);
  const addCreated = (created_value: string) => onChange([...value, created_value]);
  const { offered, choose, setSearch, dialog } = useNew(kind, { options: choices, created: addCreated, onChange });
  return (
    <>
      <MultiSelect
        {...rest}
        placeholder={loading ? 'Loading …' : value.length > 0 ? '' : 'Choose …'}
        data={offered}
        value={value}
        onChange={choose}
        onSearchChange={setSearch}
        filter={filter}
        searchable
        clearable
        hidePickedOptions
        nothingFoundMessage={NOTHING_FOUND}
      />
      {dialog}
    </>
  );
}

/**
 * Adds chosen ids that have no option. An imported record can refer to records that do not exist here; their ids are shown
 * unchanged.
 */
function withCurrent(options: Option[], values: string[]): Option[] {
  const missing = values.filter((value) => !options.some((option) => option.value === value));
  return [...options, ...missing.map((value) => ({ value, label: value }))];
}
