import { Checkbox, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { parseJson } from '../ui/json.ts';
import { useUnsaved } from '../ui/unsaved.tsx';

interface TypedAnswer {
  text: string;
  is_json: boolean;
}

const toTypedAnswer = (answer: unknown): TypedAnswer => {
  if (answer === null || answer === undefined) return { text: '', is_json: false };
  return typeof answer === 'string' ? { text: answer, is_json: false } : { text: JSON.stringify(answer, null, 2), is_json: true };
};

/**
 * Holds the field for an expected answer: a text, or any JSON value. `is_sent`: the answer was sent, so nothing can be lost any
 * more.
 */
export function useExpected(initial: unknown, is_sent: boolean) {
  const [before] = useState(() => toTypedAnswer(initial));
  const [typed, setTyped] = useState(before);
  const [wrong, setWrong] = useState<string | null>(null);
  const changed = typed.text !== before.text || typed.is_json !== before.is_json;
  useUnsaved(changed && !is_sent);
  return {
    typed,
    wrong,
    changed,
    set: (change: Partial<TypedAnswer>) => setTyped((previous) => ({ ...previous, ...change })),
    /** Returns the answer; null if the field is empty, undefined if it is invalid, which the field then shows. */
    read(): unknown {
      const read = typed.text.trim() === '' ? { value: null } : typed.is_json ? parseJson(typed.text) : { value: typed.text };
      setWrong('wrong' in read ? read.wrong : null);
      return 'wrong' in read ? undefined : read.value;
    },
  };
}

export function ExpectedField({ expected: { typed, wrong, set } }: { expected: ReturnType<typeof useExpected> }) {
  return (
    <Stack gap="xs">
      <Textarea
        label="Expected answer"
        description="The grader “exact” compares with it; other graders do not use it."
        autosize
        minRows={2}
        maxRows={16}
        value={typed.text}
        error={wrong}
        onChange={(event) => set({ text: event.currentTarget.value })}
      />
      <Checkbox label="It is JSON" checked={typed.is_json} onChange={(event) => set({ is_json: event.currentTarget.checked })} />
    </Stack>
  );
}
