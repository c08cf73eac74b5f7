import { Button, Group, Stack, Text } from '@mantine/core';
import { type ComponentProps, createContext, useContext, useEffect, useRef, useState } from 'react';
import { type Location, useBlocker } from 'react-router';
import { Dialog } from './dialog.tsx';
import { canCloseLayer, closeLayer } from './layers.ts';

/** The forms with unsaved text. The page has one set, because a router accepts only one blocker. */
const unsaved = new Set<object>();

/** The forms with unsaved text in the enclosing dialog, which can be closed without leaving the page. */
const InDialog = createContext<Set<object> | null>(null);

/** Asks before the user leaves the screen while `dirty`. A form that navigates after saving must not be dirty while it saves. */
export function useUnsaved(dirty: boolean): void {
  const self = useRef({});
  const dialog = useContext(InDialog);
  useEffect(() => {
    const key = self.current;
    const holders = dialog ? [unsaved, dialog] : [unsaved];
    if (dirty) for (const holder of holders) holder.add(key);
    return () => {
      for (const holder of holders) holder.delete(key);
    };
  }, [dirty, dialog]);
}

/**
 * Returns what removes a form when it changes: another screen, or another tab of a screen. The first message of a chat leads to
 * the thread that it begins, and the screen stays.
 */
const toScreenKey = ({ pathname, search, state, key }: Location<{ screen?: string } | null>) =>
  pathname.startsWith('/chat') ? (state?.screen ?? key) : `${pathname} ${new URLSearchParams(search).get('tab') ?? ''}`;

/**
 * Asks before a half-filled form is lost: when another screen is opened, and when the browser tab is closed or reloaded. While a
 * dialog is open, *Back* closes that instead.
 */
export function LeaveGuard() {
  const [closes, setCloses] = useState(false);
  const blocker = useBlocker(({ currentLocation, nextLocation, historyAction }) => {
    const closes_layer = historyAction === 'POP' && canCloseLayer();
    setCloses(closes_layer);
    return closes_layer || (unsaved.size > 0 && toScreenKey(currentLocation) !== toScreenKey(nextLocation));
  });
  useEffect(() => {
    if (!closes || blocker.state !== 'blocked') return;
    blocker.reset();
    closeLayer();
  }, [closes, blocker]);
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (unsaved.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
  const asks = blocker.state === 'blocked' && !closes;
  return <LeaveDialog opened={asks} stay={() => blocker.reset?.()} leave={() => blocker.proceed?.()} />;
}

/** A dialog that asks before closing if its form is half-filled. */
export function GuardedDialog({ onClose, children, ...dialog }: ComponentProps<typeof Dialog> & { onClose(): void }) {
  const [asking, setAsking] = useState(false);
  const [unsaved_keys] = useState(() => new Set<object>());
  const leave = () => {
    setAsking(false);
    onClose();
  };
  return (
    <>
      <Dialog {...dialog} onClose={() => (unsaved_keys.size > 0 ? setAsking(true) : onClose())}>
        <InDialog value={unsaved_keys}>{children}</InDialog>
      </Dialog>
      <LeaveDialog opened={asking} stay={() => setAsking(false)} leave={leave} />
    </>
  );
}

function LeaveDialog({ opened, stay, leave }: { opened: boolean; stay(): void; leave(): void }) {
  return (
    <Dialog opened={opened} onClose={stay} title="Leave without saving?">
      <Stack>
        <Text>What you typed is not saved and will be lost.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={stay} data-autofocus>
            Stay
          </Button>
          <Button color="red" onClick={leave}>
            Leave
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** True if there is a text that differs from the one that was sent last. */
export const isUnsent = (text: string, sent: string): boolean => text.trim() !== '' && text !== sent;
