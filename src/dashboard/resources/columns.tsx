import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Column } from '../ui/list.tsx';
import { Status } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';
import { type Kind, useNames } from './references.ts';
import type { Stored } from './resource.ts';

/** Columns shared by several resources. */
export const column = {
  description: { label: 'Description', show: ({ description }) => <Clip>{description}</Clip> },
  tags: { label: 'Tags', show: ({ tags }) => (tags as string[]).join(', ') || '—' },
  updated: { label: 'Changed', show: ({ updated_at }) => <When at={updated_at} /> },
  status: {
    label: 'Status',
    show: ({ status, last_error }) => (
      <span title={last_error}>
        <Status of={status} />
      </span>
    ),
  },
} satisfies Record<string, Column<Stored>>;

export const text = (label: string, show: (record: Stored) => string | number | null | undefined): Column<Stored> => ({
  label,
  show: (record) => show(record) ?? '—',
});

/** A column with the name of another record and a link to it. */
export const reference = (
  label: string,
  field: string,
  { kind, slug, none = '—' }: { kind: Kind; slug: string; none?: string },
): Column<Stored> => ({
  label,
  show: (record) => (record[field] ? <Named kind={kind} slug={slug} id={record[field] as string} /> : none),
});

export function Named({ kind, slug, id }: { kind: Kind; slug: string; id: string }) {
  const { nameOf } = useNames(kind);
  return (
    <Anchor component={Link} to={`/${slug}/${id}`} dir="auto">
      {nameOf(id)}
    </Anchor>
  );
}

export function Clip({ children }: { children: string }) {
  return children ? (
    <Text span className="clip" dir="auto" title={children} inherit>
      {children}
    </Text>
  ) : (
    '—'
  );
}
