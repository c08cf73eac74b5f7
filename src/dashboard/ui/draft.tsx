import { Alert, Button, Group, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useSession } from '../api/context.tsx';
import { When } from './time.tsx';
import { useUnsaved } from './unsaved.tsx';

export interface Draft<T> {
  /** What the form was opened with; null: no draft, or it was sent or discarded. */
  restored: { at: number; typed: T } | null;
  place: string;
  /** Removes the draft: what was typed has been sent, or is not wanted. */
  remove(): void;
}

/**
 * Finds what the person typed before in the form at a place. The form starts with it, shows a
 * `DraftNotice`, and keeps what is typed with `useKeptDraft`.
 */
export function useDraft<T>(place: string): Draft<T> {
  const { session } = useSession();
  const [restored, setRestored] = useState(() => session.drafts.read(place) as Draft<T>['restored']);
  const remove = () => {
    setRestored(null);
    session.drafts.write(place, null);
  };
  return { restored, place, remove };
}

interface KeepOptions {
  /** True if the form also holds something that is not in `typed`, such as a secret. */
  holds_more?: boolean;
  /** True while the form sends what it holds and then leaves the screen. */
  sending?: boolean;
}

/**
 * Keeps what is typed in this browser until it is sent, discarded or a week old; null: the form holds nothing. Asks before the
 * user leaves only if something is not kept. Secrets must not be part of `typed`.
 */
export function useKeptDraft<T>({ place }: Draft<T>, typed: T | null, { holds_more, sending }: KeepOptions = {}): void {
  const { session, person } = useSession();
  const [is_kept, setKept] = useState(false);
  const text = JSON.stringify(typed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the person: a form can be older than the answer about who it is
  useEffect(() => {
    setKept(session.drafts.write(place, JSON.parse(text)));
  }, [place, text, person, session]);
  useUnsaved(!sending && (holds_more === true || (typed !== null && !is_kept)));
}

interface DraftNoticeProps {
  draft: Draft<unknown>;
  /** Labels of fields that were filled in too, but are not kept because they may hold secrets. */
  missing?: readonly string[];
  /** Labels of fields that someone else has changed since. */
  outdated?: readonly string[];
  /** Empties the form. */
  discard(): void;
}

/** Reports that the form holds a draft. */
export function DraftNotice({ draft: { restored, remove }, missing = [], outdated = [], discard }: DraftNoticeProps) {
  if (!restored) return null;
  return (
    <Alert color="blue" variant="outline" role="status">
      <Group justify="space-between">
        <Text size="sm">
          This is your draft from <When at={new Date(restored.at).toISOString()} />.
          {missing.length > 0 && ` Type again what is never kept: ${missing.join(', ')}.`}
          {outdated.length > 0 && ` Changed by someone else since, and overwritten when you save: ${outdated.join(', ')}.`}
        </Text>
        <Button
          variant="default"
          size="xs"
          onClick={() => {
            remove();
            discard();
          }}
        >
          Discard draft
        </Button>
      </Group>
    </Alert>
  );
}
