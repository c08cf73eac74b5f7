import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from 'react';
import { useSession } from '../api/context.tsx';
import { useDraft, useKeptDraft } from '../ui/draft.tsx';
import { usePromptFiles } from '../workflows/prompt-files.tsx';
import type { Outbox, Typed } from './outbox.ts';

export type Composer = ReturnType<typeof useComposer>;

/** Holds the next message. Its text is kept as a draft of the thread, with the messages that are not accepted yet. */
export function useComposer(thread_id: string | null, outbox: Outbox) {
  const draft = useDraft<string>(placeOf(thread_id));
  useDraftMove(thread_id);
  const [text, setText] = useState(draft.restored?.typed ?? '');
  const files = usePromptFiles([]);
  const unsent = outbox.sending.filter(({ id }) => id === null).map((one) => one.text);
  const kept = [...unsent, text].filter((one) => one.trim()).join('\n\n');
  useOtherTabs(draft.place, setText);
  useKeptDraft(draft, kept || null, { holds_more: files.files.length > 0 });
  return {
    text,
    setText,
    files,
    /** Takes a message back into the box, before what is typed there. */
    edit(one: Typed & { key?: string }) {
      outbox.remove(one);
      setText([one.text, text].filter(Boolean).join('\n\n'));
      files.take(one.files);
    },
  };
}

const placeOf = (thread_id: string | null) => `chat:${thread_id ?? 'new'}`;

/** Has the tabs of a thread share its draft, so that what one of them has sent is in the box of none. Another text stays. */
function useOtherTabs(place: string, setText: Dispatch<SetStateAction<string>>): void {
  const { session } = useSession();
  useEffect(
    () =>
      session.drafts.follow(place, (typed, before) =>
        setText((current) => (current === (before ?? '') ? String(typed ?? '') : current)),
      ),
    [place, session, setText],
  );
}

/** Removes the draft of a new conversation once it has begun: what is typed further belongs to its thread. */
function useDraftMove(thread_id: string | null): void {
  const { session } = useSession();
  const began_here = useRef(thread_id === null).current;
  useEffect(() => {
    if (began_here && thread_id !== null) session.drafts.write(placeOf(null), null);
  }, [began_here, thread_id, session]);
}
