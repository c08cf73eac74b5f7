import { Button, type ModalProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import type { Scope } from '../../domain/access.ts';
import { GuardedDialog } from './unsaved.tsx';

interface DialogButtonProps extends Pick<ModalProps, 'size'> {
  label: string;
  title: string;
  disabled?: boolean;
  /** The scope that the work in the dialog needs. */
  needs?: Scope | null | undefined;
  /** The content of the dialog. It starts from scratch each time the dialog opens. */
  children: ReactNode | ((close: () => void) => ReactNode);
}

/** A button that opens a dialog. */
export function DialogButton({ label, title, size = 'md', disabled = false, needs, children }: DialogButtonProps) {
  const [opened, dialog] = useDisclosure();
  return (
    <>
      <Button variant="default" disabled={disabled} data-needs={needs ?? undefined} onClick={dialog.open}>
        {label} …
      </Button>
      <GuardedDialog opened={opened} onClose={dialog.close} title={title} size={size}>
        {typeof children === 'function' ? children(dialog.close) : children}
      </GuardedDialog>
    </>
  );
}
