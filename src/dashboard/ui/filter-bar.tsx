import { Button, Menu, TextInput } from '@mantine/core';
import { Plus, Search, X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { useFilters } from './filters.ts';

export interface FilterField {
  /** The name of the filter in the URL. */
  name: string;
  label: string;
  /** The values to choose from; without them, a value is typed. */
  options?: { value: string; label: string }[];
  type?: 'text' | 'date' | 'number';
  min?: string | number | undefined;
  max?: string | undefined;
  /** An example of a value that is typed. */
  placeholder?: string;
  /** True if the chip is there without a value too. */
  pinned?: boolean;
  /** True if one of the options is always chosen. */
  required?: boolean;
}

interface FilterBarProps {
  fields: FilterField[];
  wanted: ReturnType<typeof useFilters>;
  /** What the field of the search says; without it there is none. */
  search?: string;
  /** What stands at the end of the line, such as the order of the list. */
  children?: ReactNode;
}

/** The filters of a list on one line: a chip for each that is set, and *Add filter* for the others. */
export function FilterBar({ fields, wanted: { filters, filtered, set, clear }, search, children }: FilterBarProps) {
  // Chips that were added and have no value yet.
  const [added, setAdded] = useState<string[]>([]);
  const visible = fields.filter(({ name, pinned }) => pinned || filters[name] || added.includes(name));
  const others = fields.filter((field) => !visible.includes(field));
  const remove = (name: string) => {
    setAdded((before) => before.filter((one) => one !== name));
    set(name, '');
  };
  return (
    <div className="filter-bar">
      {search !== undefined && <SearchField placeholder={search} value={filters.q ?? ''} onChange={(value) => set('q', value)} />}
      {visible.map((field) => (
        <FilterChip
          key={field.name}
          field={field}
          value={filters[field.name] ?? ''}
          focused={added.includes(field.name)}
          onChange={(value) => set(field.name, value)}
          remove={() => remove(field.name)}
        />
      ))}
      {others.length > 0 && (
        <Menu position="bottom-start" width={200} returnFocus={false} transitionProps={{ duration: 0 }}>
          <Menu.Target>
            <Button variant="subtle" size="compact-sm" leftSection={<Plus size={14} aria-hidden />}>
              Add filter
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map(({ name, label }) => (
              <Menu.Item key={name} onClick={() => setAdded((before) => [...before, name])}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {(filtered || added.length > 0) && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={() => {
            setAdded([]);
            clear();
          }}
        >
          Clear filters
        </Button>
      )}
      {children && <div className="filter-end">{children}</div>}
    </div>
  );
}

interface SearchFieldProps {
  placeholder: string;
  value: string;
  onChange(value: string): void;
}

export function SearchField({ placeholder, value, onChange }: SearchFieldProps) {
  return (
    <TextInput
      label="Search"
      labelProps={{ className: 'visually-hidden' }}
      className="filter-search"
      size="xs"
      type="search"
      leftSection={<Search size={14} aria-hidden />}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

const MENU_CLOSES_MS = 50;

interface FilterChipProps {
  field: FilterField;
  value: string;
  /** True if the field takes the focus when it appears. */
  focused?: boolean;
  onChange(value: string): void;
  /** Removes the filter; without it, the chip stays. */
  remove?: () => void;
}

/** One filter: its name, its value, which can be changed in place, and a button that removes it. */
export function FilterChip({ field, value, focused = false, onChange, remove }: FilterChipProps) {
  const { name, label, options, type, min, max, placeholder, pinned = false, required = false } = field;
  const id = useId();
  const holder = useRef<HTMLSpanElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a chip that was just added takes the focus
  useEffect(() => {
    if (!focused) return;
    // The menu gives the focus back when it closes, which is later.
    const timer = setTimeout(() => holder.current?.querySelector<HTMLElement>('select, input')?.focus(), MENU_CLOSES_MS);
    return () => clearTimeout(timer);
  }, []);
  const change = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
  return (
    <span className="chip" data-set={required ? 'always' : value !== ''} ref={holder}>
      <label htmlFor={id}>{label}</label>
      {options ? (
        <select id={id} name={name} value={value} onChange={change}>
          {!required && !options.some((option) => option.value === '') && <option value="">any</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          name={name}
          type={type ?? 'text'}
          dir="auto"
          step="any"
          min={min}
          max={max}
          placeholder={placeholder}
          value={value}
          onChange={change}
        />
      )}
      {remove && (value !== '' || !pinned) && (
        <button type="button" title={`Remove the filter ${label}`} onClick={remove}>
          <X size={13} aria-hidden />
          <span className="visually-hidden">Remove the filter {label}</span>
        </button>
      )}
    </span>
  );
}
