import { type ComponentType, createContext } from 'react';
import type { Kind } from './references.ts';

export interface CreateDialogProps {
  kind: Kind;
  /** What was looked for and not found, as the name of the new one. */
  name: string;
  close(): void;
  /** Told of what was made, as the field holds it: its id or its name. */
  created(value: string): void;
}

/** The dialog in which a picker makes what it does not offer. A context, because its form has pickers in turn. */
export const CreateDialogContext = createContext<ComponentType<CreateDialogProps> | null>(null);
