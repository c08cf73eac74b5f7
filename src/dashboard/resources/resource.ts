import type { ComponentType, ReactNode } from 'react';
import type { z } from 'zod';
import type { AnyEndpoint } from '../api/call.ts';
import type { Column } from '../ui/list.tsx';
import type { Overrides, Values } from './fields.ts';
import type { FieldGroup } from './form.tsx';
import type { Kind } from './references.ts';

/** A record as the generic screens know it: what a contract says of it is known to its own columns and panels. */
// biome-ignore lint/suspicious/noExplicitAny: each resource has its own
export type Stored = { id: string } & Record<string, any>;

/** A filter above a list. */
export type ScreenFilter =
  | { name: string; label: string; of: Kind }
  | { name: string; label: string; options: readonly string[] };

/** All that the generic screens need to know of a resource; the rest is in its contract. */
export interface ResourceScreen {
  title: string;
  noun: string;
  /** One sentence below the title of the list: what the thing is for. */
  about: string;
  endpoints: { list: AnyEndpoint; create: AnyEndpoint; get: AnyEndpoint; update: AnyEndpoint; remove: AnyEndpoint };
  create: z.ZodType;
  update: z.ZodType;
  nameOf?(record: Stored): string;
  columns: Column<Stored>[];
  filters?: ScreenFilter[];
  overrides?: Overrides;
  groups?: FieldGroup[];
  /** Shown above the form of one that is stored. */
  Panel?: ComponentType<{ record: Stored }>;
  /** Beside the button that creates one. */
  Actions?: ComponentType;
  /** How one is exported, where it can be. */
  exported?: AnyEndpoint;
  /** Why a record can be looked at only. */
  readonly?(record: Stored): ReactNode | null;
  /** What the record must be completed with before it is edited. */
  complete?: { endpoint: AnyEndpoint; fields: string[] };
  /** Below the fields, for what can be tried with them before they are saved. */
  Extra?: ComponentType<{ values: Values }>;
}
