import { Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { guardrails } from '../../../contracts/guardrails.ts';
import type { ApiReply } from '../../api/call.ts';
import { useAct } from '../../api/queries.ts';
import { Section } from '../../ui/page.tsx';
import { Code, TestVerdict } from '../../ui/show.tsx';
import { Failure } from '../../ui/states.tsx';
import { isUnsent, useUnsaved } from '../../ui/unsaved.tsx';
import type { Stored } from '../resource.ts';

export function GuardrailPanel({ record }: { record: Stored }) {
  const check = useAct(guardrails.check);
  const [text, setText] = useState('');
  const [tried, setTried] = useState('');
  useUnsaved(isUnsent(text, tried));
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
          </Group>
          {check.data && <Checked of={check.data} />}
          <Failure problem={check.error} />
        </Stack>
      </form>
    </Section>
  );
}

function Checked({ of: { passed, action, violations, text } }: { of: ApiReply<typeof guardrails.check> }) {
  return (
    <>
      <TestVerdict good={passed} yes="Passed" no={`Caught, action: ${action}`} />
      {violations.map((violation) => (
        <div key={violation}>{violation}</div>
      ))}
      {!passed && text !== null && <Code label="Text after the guardrail">{text}</Code>}
    </>
  );
}
