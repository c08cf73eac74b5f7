import { Modal, type ModalRootProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLayer } from './layers.ts';

interface DialogProps extends Pick<ModalRootProps, 'opened' | 'size'> {
  /** If absent, the dialog cannot be closed by the user. */
  onClose?: () => void;
  title: string;
  children: ReactNode;
}

const STAY = () => {};

/** A dialog. One may open another. */
export function Dialog({ opened, onClose, title, size = 'md', children }: DialogProps) {
  useLayer(opened, onClose);
  return (
    <Modal.Root opened={opened} onClose={onClose ?? STAY} size={size} closeOnEscape={false}>
      <Modal.Overlay />
      <Modal.Content>
        {/* Without this role, its <header> would count as the banner of the page. */}
        <Modal.Header role="none">
          <Modal.Title>{title}</Modal.Title>
          {onClose && <Modal.CloseButton aria-label="Close" />}
        </Modal.Header>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
