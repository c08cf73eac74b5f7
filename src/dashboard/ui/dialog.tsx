import { Modal, type ModalRootProps } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent } from 'react';

interface DialogProps extends Pick<ModalRootProps, 'opened' | 'size'> {
  /** If absent, the dialog cannot be closed by the user. */
  onClose?: () => void;
  title: string;
  children: ReactNode;
}

/** The open dialogs; the innermost is last. */
const open: object[] = [];

/**
 * Closes the innermost dialog on Escape, or first a list that is open in it. It works wherever the focus is: when an inner
 * dialog closes, no element has the focus for a moment.
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
    // In the capture phase, so that the list does not close first.
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => {
      open.splice(open.indexOf(self), 1);
      window.removeEventListener('keydown', onKeyDown, { capture: true });
    };
  }, [opened]);
}

const STAY = () => {};

/** A dialog. One may open another. */
export function Dialog({ opened, onClose, title, size = 'md', children }: DialogProps) {
  const close = onClose ?? STAY;
  useEscape(opened, close);
  return (
    <Modal.Root opened={opened} onClose={close} size={size} closeOnEscape={false}>
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
