import { Modal, type ModalRootProps } from '@mantine/core';
import type { KeyboardEvent, ReactNode } from 'react';

interface DialogProps extends Pick<ModalRootProps, 'opened' | 'onClose' | 'size'> {
  title: string;
  children: ReactNode;
}

/** A dialog. One may open another, and Escape is for the innermost alone; a list that is open in it comes first. */
export function Dialog({ opened, onClose, title, size = 'md', children }: DialogProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.nativeEvent.isComposing) return;
    if ((event.target as HTMLElement).getAttribute('data-mantine-stop-propagation') === 'true') return;
    // Events of a dialog pass through the dialog that opened it, wherever they are in the document.
    event.stopPropagation();
    onClose();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is pressed in the dialog comes by here; this element has no box
    <div onKeyDown={onKeyDown} style={{ display: 'contents' }}>
      <Modal.Root opened={opened} onClose={onClose} size={size} closeOnEscape={false}>
        <Modal.Overlay />
        <Modal.Content>
          {/* Its element would be taken for the banner of the page. */}
          <Modal.Header role="none">
            <Modal.Title>{title}</Modal.Title>
            <Modal.CloseButton aria-label="Close" />
          </Modal.Header>
          <Modal.Body>{children}</Modal.Body>
        </Modal.Content>
      </Modal.Root>
    </div>
  );
}
