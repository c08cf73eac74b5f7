import { Anchor, Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import { lastSeen } from './filters.ts';

interface PageProps {
  title: string;
  /** The name of the browser's tab; without it, the title. */
  tab?: string;
  /** The parent screen, shown as a link back. */
  parent?: { to: string; title: string };
  actions?: ReactNode;
  children: ReactNode;
}

/** The state of a navigation that the user did not ask for, while typing on. */
export interface KeepsFocus {
  keeps_focus?: boolean;
}

/** One screen. Its heading receives the focus after navigation, so that screen readers announce the screen. */
export function Page({ title, tab = title, parent, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname, key, state } = useLocation();
  useEffect(() => {
    document.title = `${tab} · Perdura`;
  }, [tab]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address is another screen
  useEffect(() => {
    if (key !== 'default' && !(state as KeepsFocus | null)?.keeps_focus) heading.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <Stack gap="md">
      <div>
        {parent && (
          <Anchor component={Link} to={lastSeen(parent.to)} size="xs">
            ← {parent.title}
          </Anchor>
        )}
        <Group justify="space-between" gap="xs">
          <Title order={1} ref={heading} tabIndex={-1} dir="auto" style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
      </div>
      {children}
    </Stack>
  );
}

export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Group justify="space-between">
        <Title order={2}>{title}</Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}
