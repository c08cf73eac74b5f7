import { ActionIcon, Menu, type ModalProps } from '@mantine/core';
import { Ellipsis, type LucideIcon } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import type { Scope } from '../../domain/access.ts';
import { useRefusal } from '../api/may.ts';
import { GuardedDialog } from '../ui/unsaved.tsx';

export interface MenuAction {
  label: string;
  icon: LucideIcon;
  /** The scope that the action needs. */
  needs: Scope | null | undefined;
  /** What a click does, or the dialog that it opens. */
  does: (() => void) | MenuDialog;
}

interface MenuDialog extends Pick<ModalProps, 'size'> {
  title: string;
  /** The content of the dialog. It starts from scratch each time the dialog opens. */
  content(close: () => void): ReactNode;
}

interface MoreProps {
  /** Groups of actions, with a line between them. */
  groups: MenuAction[][];
  busy: boolean;
  /** The name of the button, where a screen has several. */
  label?: string;
}

/** The actions that are not the first one, behind one button. A dialog that closes gives the focus back to it. */
export function MoreActions({ groups, busy, label: name = 'More actions' }: MoreProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState<string | null>(null);
  const close = () => {
    setOpened(null);
    button.current?.focus();
  };
  const choose = ({ label, does }: MenuAction) => (typeof does === 'function' ? does() : setOpened(label));
  return (
    <>
      <Menu position="bottom-end" shadow="md" width={232} loop={false}>
        <Menu.Target>
          <ActionIcon ref={button} variant="default" size={30} aria-label={name} title={name} loading={busy}>
            <Ellipsis size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown aria-label={name}>
          {groups.map((actions, index) => [
            // biome-ignore lint/suspicious/noArrayIndexKey: the groups do not move
            index > 0 && <Menu.Divider key={index} />,
            ...actions.map((action) => <Item key={action.label} action={action} choose={() => choose(action)} />),
          ])}
        </Menu.Dropdown>
      </Menu>
      {groups.flat().map(({ label, does }) =>
        typeof does === 'function' ? null : (
          <GuardedDialog key={label} opened={opened === label} onClose={close} title={does.title} size={does.size ?? 'md'}>
            {does.content(close)}
          </GuardedDialog>
        ),
      )}
    </>
  );
}

/** One action, disabled for those who do not have its scope, with the reason as its title. */
function Item({ action: { label, icon: Icon, needs, does }, choose }: { action: MenuAction; choose(): void }) {
  const refusal = useRefusal(needs === 'read' ? null : needs);
  return (
    <Menu.Item
      leftSection={<Icon size={15} aria-hidden />}
      disabled={refusal !== null}
      title={refusal ?? undefined}
      onClick={choose}
    >
      {label}
      {typeof does === 'function' ? '' : ' …'}
    </Menu.Item>
  );
}
