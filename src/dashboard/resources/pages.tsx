import { Anchor, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMemo, useState } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { useAct, useList, useRead } from '../api/queries.ts';
import { Confirm } from '../ui/confirm.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { FilterChip, SearchField } from '../ui/filter-bar.tsx';
import { useFilters } from '../ui/filters.ts';
import { FormLink } from '../ui/form-link.tsx';
import { ListTable } from '../ui/list.tsx';
import { Nowhere } from '../ui/nowhere.tsx';
import { Page } from '../ui/page.tsx';
import { Facts } from '../ui/show.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { CATALOG } from './catalog.tsx';
import { EditForm } from './edit.tsx';
import { EXAMPLES } from './examples.ts';
import { presetFields, toFields, type Values } from './fields.ts';
import { ResourceForm, useForm } from './form.tsx';
import { NeedsAlert, NeedsMark, WarningsAlert } from './needs.tsx';
import { useNames } from './references.ts';
import { isEditable, type ResourceScreen, type ScreenFilter, type Stored } from './resource.ts';

const formatName = ({ formatName: nameOf }: ResourceScreen, record: Stored) => nameOf?.(record) ?? String(record.name);
const capitalize = (noun: string) => noun.charAt(0).toUpperCase() + noun.slice(1);
const chooseArticle = (noun: string) => (/^(?:[aeiou]|MCP)/i.test(noun) ? 'an' : 'a');

function useResource(): { slug: string; resource: ResourceScreen | undefined } {
  const { resource: slug = '' } = useParams();
  return { slug, resource: CATALOG[slug] };
}

export function ListPage() {
  const { slug, resource } = useResource();
  return resource ? <List key={slug} slug={slug} resource={resource} /> : <Nowhere />;
}

function List({ slug, resource }: { slug: string; resource: ResourceScreen }) {
  const { title, noun, about, endpoints, columns, Actions } = resource;
  const filter_state = useFilters();
  const [query_filters] = useDebouncedValue(filter_state.filters, 250);
  const query = useList(endpoints.list, query_filters);
  const create = (
    <FormLink to={`/${slug}/new`} needs={endpoints.create.access}>
      {`New ${noun}`}
    </FormLink>
  );
  const unfiltered = !filter_state.filtered;
  // The box of an empty list has the button.
  const actions = (
    <>
      {Actions && <Actions />}
      {!(unfiltered && query.items?.length === 0) && create}
    </>
  );
  return (
    <Page title={title} actions={actions}>
      <Text c="dimmed">{about}</Text>
      <Filters resource={resource} wanted={filter_state} />
      <ListTable
        query={query as never}
        columns={[nameColumn(slug, resource), ...columns]}
        label={title.toLowerCase()}
        empty={
          unfiltered ? (
            <Empty title={`No ${noun} yet.`} example={EXAMPLES[slug]} action={create} />
          ) : (
            <Empty>No match. Change the search or the filters.</Empty>
          )
        }
      />
    </Page>
  );
}

const nameColumn = (slug: string, resource: ResourceScreen) => ({
  label: 'Name',
  show: (record: Stored) => (
    <>
      <Anchor component={Link} to={`/${slug}/${record.id}`} dir="auto">
        {formatName(resource, record)}
      </Anchor>
      <NeedsMark needs={record.needs} />
    </>
  ),
});

function Filters({ resource, wanted: { filters, set } }: { resource: ResourceScreen; wanted: ReturnType<typeof useFilters> }) {
  return (
    <div className="filter-bar">
      <SearchField placeholder="part of the name or description" value={filters.q ?? ''} onChange={(value) => set('q', value)} />
      {resource.filters?.map((filter) => (
        <FilterSelect
          key={filter.name}
          filter={filter}
          value={filters[filter.name] ?? ''}
          onChange={(value) => set(filter.name, value)}
        />
      ))}
    </div>
  );
}

function FilterSelect({ filter, value, onChange }: { filter: ScreenFilter; value: string; onChange(value: string): void }) {
  const names = useNames('of' in filter ? filter.of : 'agent', { enabled: 'of' in filter });
  const options = 'of' in filter ? names.options : filter.options.map((option) => ({ value: option, label: option }));
  return <FilterChip field={{ name: filter.name, label: filter.label, options }} value={value} onChange={onChange} />;
}

export function CreatePage() {
  const { slug, resource } = useResource();
  return resource ? <Create key={slug} slug={slug} resource={resource} /> : <Nowhere />;
}

function Create({ slug, resource }: { slug: string; resource: ResourceScreen }) {
  const { title, noun, Made } = resource;
  const navigate = useNavigate();
  const [made, setMade] = useState<Stored | null>(null);
  const show = (record: Stored) => (Made ? setMade(record) : void navigate(`/${slug}/${record.id}`));
  return (
    <Page title={`New ${noun}`} parent={{ to: `/${slug}`, title }}>
      {made && Made ? <Made record={made} /> : <CreateForm resource={resource} created={show} />}
    </Page>
  );
}

/** The create form. It is a separate component, so that it does not count as unsaved once the record exists. */
function CreateForm({ resource, created }: { resource: ResourceScreen; created(record: Stored): void }) {
  const { noun, create, overrides, groups, endpoints, Extra, Fill } = resource;
  const [search] = useSearchParams();
  const act = useAct(endpoints.create);
  const fields = useMemo(() => toFields(create, overrides), [create, overrides]);
  // A link from another screen can set a value, such as the agent of a memory.
  const withGiven = presetFields(fields, Object.fromEntries(search));
  const submit = async (values: Values) => {
    const record = (await act.mutateAsync({ body: values })) as Stored;
    notifications.show({ message: `The ${noun} was created.`, color: 'green' });
    created(record);
    return record;
  };
  const place = `${endpoints.create.path}?${search}`;
  const form = useForm({ fields: withGiven, record: null, place, submit });
  const needs = endpoints.create.access;
  return <ResourceForm form={form} groups={groups} submit={`Create ${noun}`} needs={needs} Extra={Extra} Fill={Fill} />;
}

export function EditPage() {
  const { id = '' } = useParams();
  const { slug, resource } = useResource();
  return resource ? <Edit key={`${slug}/${id}`} slug={slug} resource={resource} id={id} /> : <Nowhere />;
}

function Edit({ slug, resource, id }: { slug: string; resource: ResourceScreen; id: string }) {
  const { endpoints, title, noun, Panel } = resource;
  const query = useRead(endpoints.get, { params: { id } });
  const record = query.data as Stored | undefined;
  return (
    <Page
      title={record ? formatName(resource, record) : capitalize(noun)}
      parent={{ to: `/${slug}`, title }}
      actions={
        record && (
          <>
            <Export resource={resource} record={record} />
            <Remove resource={resource} record={record} to={`/${slug}`} />
          </>
        )
      }
    >
      <Loaded query={query} what={`Loading the ${noun}`}>
        {(data) => (
          <Stack gap="lg">
            <Identity record={data as Stored} />
            <NeedsAlert noun={noun} needs={(data as Stored).needs} />
            <WarningsAlert warnings={(data as Stored).warnings} />
            {Panel && <Panel record={data as Stored} />}
            {isEditable(resource) && <EditForm resource={resource} id={id} />}
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Identity({ record: { id, created_by, created_at, updated_at } }: { record: Stored }) {
  return (
    <Facts
      of={{
        ID: <CopyableId>{id}</CopyableId>,
        ...(created_by && { 'Created by': created_by }),
        ...(created_at && { Created: <When at={created_at} /> }),
        ...(updated_at && { Changed: <When at={updated_at} /> }),
      }}
    />
  );
}

/** Downloads a bundle with this record, for an import. */
export function Export({ resource: { exported, noun }, record }: { resource: ResourceScreen; record: Stored }) {
  if (!exported) return null;
  return (
    <DownloadButton
      variant="default"
      name={`${noun}-${record.id}.json`}
      endpoint={exported}
      input={{ params: { id: record.id } }}
    >
      Export
    </DownloadButton>
  );
}

export function Remove({ resource, record, to }: { resource: ResourceScreen; record: Stored; to: string }) {
  const navigate = useNavigate();
  const act = useAct(resource.endpoints.remove);
  const remove = async () => {
    await act.mutateAsync({ params: { id: record.id } });
    void navigate(to);
  };
  return (
    <Confirm
      label="Delete"
      title={`Delete ${chooseArticle(resource.noun)} ${resource.noun}`}
      act={remove}
      problem={act.error}
      busy={act.isPending}
      needs={act.needs}
    >
      {formatName(resource, record)} is deleted permanently{resource.removes && `, ${resource.removes}`}. The service refuses this
      if it is still in use elsewhere.
    </Confirm>
  );
}
