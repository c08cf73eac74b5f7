import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import type { Problem } from '../api/call.ts';
import { Failure } from './states.tsx';

interface ConfirmProps {
  /** On the button that opens it, and on the one that does it. */
  label: string;
  title: string;
  children: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  /** Does it; the dialog stays open while it fails. */
  act(): Promise<unknown>;
  problem: Problem | null;
  busy: boolean;
}

/** A button that asks before it does what cannot be taken back. */
export function Confirm({ label, title, children, danger = true, disabled = false, act, problem, busy }: ConfirmProps) {
  const [opened, dialog] = useDisclosure();
  const color = danger ? { color: 'red' } : {};
  const confirm = () =>
    act().then(dialog.close, () => {
      // Told in the dialog.
    });
  return (
    <>
      <Button variant="default" disabled={disabled} onClick={dialog.open}>
        {label} …
      </Button>
      <Modal opened={opened} onClose={dialog.close} title={title}>
        <Stack>
          <Text>{children}</Text>
          {problem && <Failure problem={problem} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={dialog.close} data-autofocus>
              Cancel
            </Button>
            <Button {...color} loading={busy} onClick={() => void confirm()}>
              {label}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
