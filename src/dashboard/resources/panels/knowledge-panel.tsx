import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import { knowledgeItems, knowledgeSources } from '../../../contracts/knowledge.ts';
import { useAct } from '../../api/queries.ts';
import { FormLink } from '../../ui/form-link.tsx';
import { Section } from '../../ui/page.tsx';
import { Facts, Status } from '../../ui/show.tsx';
import { Failure } from '../../ui/states.tsx';
import { isUnsent, useUnsaved } from '../../ui/unsaved.tsx';
import { Named } from '../columns.tsx';
import type { Stored } from '../resource.ts';
import { TestButton } from './test-button.tsx';

export function SourcePanel({ record }: { record: Stored }) {
  const test = useAct(knowledgeSources.test);
  return (
    <Stack>
      <Group>
        {record.source_type === 'builtin' && (
          <>
            <FormLink to={`/knowledge-items/new?source_id=${record.id}`} needs="write">
              New item
            </FormLink>
            <Button variant="default" component={Link} to={`/knowledge-items?source_id=${record.id}`}>
              Show items
            </Button>
          </>
        )}
        <TestButton
          test={test}
          id={record.id}
          label="Test the source"
          yes={({ embeddings }) => (embeddings ? 'Ready to search' : 'Ready to search, by keywords only')}
        />
      </Group>
      {record.last_error && (
        <Alert color="red" variant="outline">
          {record.last_error}
        </Alert>
      )}
      <Ask source_id={record.id} />
    </Stack>
  );
}

function Ask({ source_id }: { source_id: string }) {
  const ask = useAct(knowledgeItems.query);
  const [query, setQuery] = useState('');
  const [asked, setAsked] = useState('');
  useUnsaved(isUnsent(query, asked));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate({ body: { query, source_ids: [source_id], limit: 5 } }, { onSuccess: () => setAsked(query) });
  };
  return (
    <Section title="Search the source">
      <form onSubmit={submit}>
        <Stack gap="xs" className="panel">
          <Group align="end">
            <TextInput
              label="Question"
              value={query}
              onChange={(event) => setQuery(event.currentTarget.value)}
              style={{ flex: 1 }}
            />
            <Button type="submit" variant="default" size="sm" loading={ask.isPending} data-needs={ask.needs}>
              Search
            </Button>
          </Group>
          {ask.data?.items.length === 0 && <Text c="dimmed">No passages found.</Text>}
          {ask.data?.warnings.map(({ message }) => (
            <Text key={message} c="dimmed">
              {message}
            </Text>
          ))}
          {ask.data?.items.map(({ item_id, name, content, score, position }) => (
            <div key={`${item_id}-${position}`}>
              <Text fw={600}>
                {name} <span className="note">score {score.toFixed(2)}</span>
              </Text>
              <Text style={{ whiteSpace: 'pre-wrap' }}>{content.slice(0, 400)}</Text>
            </div>
          ))}
          <Failure problem={ask.error} />
        </Stack>
      </form>
    </Section>
  );
}

export function ItemPanel({ record }: { record: Stored }) {
  return (
    <Stack gap="xs">
      <Facts
        of={{
          Status: <Status of={record.status} />,
          Source: <Named kind="knowledge_source" slug="knowledge-sources" id={record.source_id} />,
          Passages: record.chunks,
        }}
      />
      {record.last_error && (
        <Alert color="yellow" variant="outline">
          {record.last_error}
        </Alert>
      )}
    </Stack>
  );
}
