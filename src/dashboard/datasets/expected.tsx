import { Checkbox, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useUnsaved } from '../ui/unsaved.tsx';
import { readTypedAnswer, type TypedAnswer, toTypedAnswer } from './typed-answer.ts';

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
      const read = readTypedAnswer(typed);
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
