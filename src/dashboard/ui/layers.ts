import { useEffect, useEffectEvent } from 'react';

/** Something that is open over the screen. */
interface Layer {
  /** Null: the user cannot close it. */
  close: (() => void) | null;
}

/** The open layers; the innermost is last. */
const layers: Layer[] = [];

/** True if *Back* closes something instead of leaving the screen. */
export const canCloseLayer = (): boolean => layers.at(-1)?.close != null;

export const closeLayer = (): void => layers.at(-1)?.close?.();

/**
 * Lets Escape close the innermost layer, or first a list that is open in it; `LeaveGuard` lets *Back* do the same. It works
 * wherever the focus is: when an inner dialog closes, no element has the focus for a moment.
 */
export function useLayer(opened: boolean, onClose: (() => void) | undefined): void {
  const close = useEffectEvent(() => onClose?.());
  const can_close = onClose !== undefined;
  useEffect(() => {
    if (!opened) return;
    const self: Layer = { close: can_close ? () => close() : null };
    layers.push(self);
    const onKeyDown = ({ key, isComposing, target }: KeyboardEvent) => {
      if (key !== 'Escape' || isComposing || layers.at(-1) !== self) return;
      if (target instanceof Element && target.getAttribute('data-mantine-stop-propagation') === 'true') return;
      closeLayer();
    };
    // In the capture phase, so that the list does not close first.
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => {
      layers.splice(layers.indexOf(self), 1);
      window.removeEventListener('keydown', onKeyDown, { capture: true });
    };
  }, [opened, can_close]);
}
