import { Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Scope } from '../../domain/access.ts';
import type { ApiProblem } from '../api/call.ts';
import { DialogButton } from './dialog-button.tsx';
import { Failure } from './states.tsx';

interface ConfirmProps {
  /** The label of the button that opens the dialog, and of the one that confirms. */
  label: string;
  title: string;
  children: ReactNode;
  disabled?: boolean;
  needs: Scope | null | undefined;
  /** Called on confirmation. The dialog stays open if it fails. */
  act(): Promise<unknown>;
  problem: ApiProblem | null;
  busy: boolean;
}

/** A button that asks before it does something irreversible. */
export function Confirm({ label, title, children, disabled = false, needs, act, problem, busy }: ConfirmProps) {
  const confirm = (close: () => void) =>
    act().then(close, () => {
      // The dialog shows `problem`.
    });
  return (
    <DialogButton label={label} title={title} disabled={disabled} needs={needs}>
      {(close) => (
        <Stack>
          <Text>{children}</Text>
          <Failure problem={problem} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Cancel
            </Button>
            <Button color="red" loading={busy} onClick={() => void confirm(close)}>
              {label}
            </Button>
          </Group>
        </Stack>
      )}
    </DialogButton>
  );
}
