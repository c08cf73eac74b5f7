import { Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { guardrails } from '../../../contracts/guardrails.ts';
import { useAct } from '../../api/queries.ts';
import { Section } from '../../ui/page.tsx';
import { Code, TestVerdict } from '../../ui/show.tsx';
import { Failure } from '../../ui/states.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';
import type { Stored } from '../resource.ts';

export function GuardrailPanel({ record }: { record: Stored }) {
  const check = useAct(guardrails.check);
  const [text, setText] = useState('');
  const [tried, setTried] = useState('');
  useUnsaved(text.trim() !== '' && text !== tried);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    check.mutate({ params: { id: record.id }, body: { text } }, { onSuccess: () => setTried(text) });
  };
  return (
    <Section title="Test the guardrail">
      <form onSubmit={submit}>
        <Stack gap="xs" className="panel" maw="46rem">
          <Textarea label="Text" autosize minRows={2} value={text} onChange={(event) => setText(event.currentTarget.value)} />
          <Group>
            <Button type="submit" variant="default" loading={check.isPending} data-needs={check.needs}>
              Check the text
            </Button>
            {check.data && <TestVerdict good={check.data.passed} yes="Passed" no={`Caught, action: ${check.data.action}`} />}
          </Group>
          {check.data?.violations.map((violation) => (
            <div key={violation}>{violation}</div>
          ))}
          {check.data?.text !== null && check.data?.text !== undefined && !check.data.passed && (
            <Code label="Text after the guardrail">{check.data.text}</Code>
          )}
          {check.error && <Failure problem={check.error} />}
        </Stack>
      </form>
    </Section>
  );
}
