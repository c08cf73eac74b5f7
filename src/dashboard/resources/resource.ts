import type { ComponentType, ReactNode } from 'react';
import type { z } from 'zod';
import type { me } from '../../contracts/me.ts';
import type { AnyEndpoint, ApiReply } from '../api/call.ts';
import type { Column } from '../ui/list.tsx';
import type { Overrides, Values } from './fields.ts';
import type { FieldGroup, FillProps } from './form.tsx';
import type { Kind } from './references.ts';

/** A record as the generic screens see it. Only its own columns and panels know the contract's type. */
// biome-ignore lint/suspicious/noExplicitAny: each resource has its own
export type Stored = { id: string } & Record<string, any>;

/** A filter above a list. */
export type ScreenFilter =
  | { name: string; label: string; of: Kind }
  | { name: string; label: string; options: readonly string[] };

/** The facts about a resource that the generic screens need; the rest is in its contract. */
export interface ResourceScreen {
  title: string;
  noun: string;
  /** One or two sentences below the title of the list: what the resource is for. */
  about: string;
  endpoints: { list: AnyEndpoint; create: AnyEndpoint; get: AnyEndpoint; remove: AnyEndpoint; update?: AnyEndpoint };
  create: z.ZodType;
  /** The schema of an update; absent: a record can only be created and deleted. */
  update?: z.ZodType;
  formatName?(record: Stored): string;
  columns: Column<Stored>[];
  filters?: ScreenFilter[];
  overrides?: Overrides;
  groups?: FieldGroup[];
  /** Shown above the edit form. */
  Panel?: ComponentType<{ record: Stored }>;
  /** Shown instead of the page of a record that was just created, because it contains what is shown only once. */
  Made?: ComponentType<{ record: Stored }>;
  /** Shown next to the create button. */
  Actions?: ComponentType;
  /** The endpoint that exports one record, if there is one. */
  exported?: AnyEndpoint;
  /** The text about what is deleted with a record: `with its …`. */
  removes?: string;
  /** Returns the reason why the caller cannot edit a record; null: they can. `caller` is undefined until it is known. */
  readonly?(record: Stored, caller: ApiReply<typeof me.get> | undefined): ReactNode | null;
  /** The endpoint with the fields that the record lacks and the edit form needs. */
  complete?: { endpoint: AnyEndpoint; fields: string[] };
  /** Shown above the fields of a new record, to fill them in. */
  Fill?: ComponentType<FillProps>;
  /** Shown below the fields, to test their values before saving. */
  Extra?: ComponentType<{ values: Values }>;
}

export interface EditableScreen extends ResourceScreen {
  endpoints: ResourceScreen['endpoints'] & { update: AnyEndpoint };
  update: z.ZodType;
}

export const isEditable = (screen: ResourceScreen): screen is EditableScreen =>
  screen.update !== undefined && screen.endpoints.update !== undefined;
