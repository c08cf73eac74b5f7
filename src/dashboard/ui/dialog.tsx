import { Modal, type ModalRootProps } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent } from 'react';

interface DialogProps extends Pick<ModalRootProps, 'opened' | 'onClose' | 'size'> {
  title: string;
  children: ReactNode;
}

/** Open dialogs, the innermost last. */
const open: object[] = [];

/**
 * Escape is for the innermost dialog alone; a list that is open in it comes first. It counts wherever the focus is: when a dialog above
 * closes, the focus is nowhere for a moment.
 */
function useEscape(opened: boolean, onClose: () => void): void {
  const close = useEffectEvent(onClose);
  useEffect(() => {
    if (!opened) return;
    const self = {};
    open.push(self);
    const onKeyDown = ({ key, isComposing, target }: KeyboardEvent) => {
      if (key !== 'Escape' || isComposing || open.at(-1) !== self) return;
      if (target instanceof Element && target.getAttribute('data-mantine-stop-propagation') === 'true') return;
      close();
    };
    // Before the list itself hears it and is closed.
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => {
      open.splice(open.indexOf(self), 1);
      window.removeEventListener('keydown', onKeyDown, { capture: true });
    };
  }, [opened]);
}

/** A dialog. One may open another. */
export function Dialog({ opened, onClose, title, size = 'md', children }: DialogProps) {
  useEscape(opened, onClose);
  return (
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
  );
}
