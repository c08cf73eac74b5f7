import { type ComponentType, createContext } from 'react';
import type { Kind, Option } from './references.ts';

export interface CreateDialogProps {
  kind: Kind;
  /** The search text that had no match, used as the name of the new record. */
  name: string;
  close(): void;
  /** Receives the new record's id or name, whichever the field holds. */
  onCreated(value: string): void;
}

/**
 * Provides the dialog in which a picker creates a record. The context breaks an import cycle: the dialog's form has pickers
 * too.
 */
export const CreateDialogContext = createContext<ComponentType<CreateDialogProps> | null>(null);

/** Returns the name of a record that is created from a picker: what was searched for, unless that is the label of an option. */
export const nameNew = (search: string, options: readonly Option[]): string =>
  options.some(({ label }) => label === search) ? '' : search.trim();
