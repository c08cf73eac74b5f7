import { AppShell, Burger, Button, Group, NativeSelect, ScrollArea, Text, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useEffect } from 'react';
import { NavLink, ScrollRestoration, useLocation, useNavigate } from 'react-router';
import { me } from '../../contracts/me.ts';
import { useSession } from '../api/context.tsx';
import { useScopes } from '../api/may.ts';
import { useRead } from '../api/queries.ts';
import { lastSeen } from '../ui/filters.ts';
import { Banners } from './banners.tsx';
import { SHORTCUTS_KEYS } from './keys.ts';
import { filterLinks, NAVIGATION } from './navigation.ts';
import { openPalette, Palette } from './palette.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [opened, menu] = useDisclosure();
  const { pathname } = useLocation();
  const navigate = useNavigate();
  useHotkeys([[SHORTCUTS_KEYS, () => void navigate('/shortcuts')]], []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a screen closes the menu
  useEffect(menu.close, [pathname]);
  return (
    <>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <ScrollRestoration />
      <Palette />
      <AppShell
        header={{ height: 48 }}
        navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding={0}
        transitionDuration={0}
      >
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <Burger opened={opened} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Menu" aria-expanded={opened} />
              <Text fw={700} size="lg">
                Perdura
              </Text>
            </Group>
            <Account />
          </Group>
        </AppShell.Header>
        <AppShell.Navbar component="nav" aria-label="Main">
          <ScrollArea h="100%" type="auto" px="xs" pb="md">
            <Menu />
          </ScrollArea>
        </AppShell.Navbar>
        <AppShell.Main id="content" tabIndex={-1} style={{ outline: 'none' }}>
          <Banners />
          <div style={{ padding: '1rem clamp(0.75rem, 2vw, 1.75rem) 3rem', maxWidth: '82rem' }}>{children}</div>
        </AppShell.Main>
      </AppShell>
    </>
  );
}

function Menu() {
  // Opens a list with the filters that it had last; a click on the open list itself shows all of it.
  const { pathname } = useLocation();
  const { scopes } = useScopes();
  return (
    <>
      {NAVIGATION.map(({ title, links }) => (
        <div key={title}>
          <div className="nav-group">{title}</div>
          {filterLinks(links, scopes).map(([to, text]) => (
            <NavLink key={to} to={pathname === to ? to : lastSeen(to)} end={to === '/'} className="nav-link">
              {text}
            </NavLink>
          ))}
        </div>
      ))}
    </>
  );
}

const notSignedOut = () =>
  notifications.show({
    title: 'You are still signed in',
    message: 'The service did not answer. Try to sign out again.',
    color: 'red',
    styles: { description: { color: 'var(--mantine-color-text)' } },
  });

function Account() {
  const { session } = useSession();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { data: who } = useRead(me.get);
  return (
    <Group gap="xs" wrap="nowrap">
      {who && (
        <Text size="sm" className="clip clip-short" title={`Signed in as ${who.login} (${who.provider})`} visibleFrom="xs">
          {who.login}
        </Text>
      )}
      <Button variant="default" onClick={openPalette} visibleFrom="xs">
        Go to …
      </Button>
      <NativeSelect
        aria-label="Theme"
        size="xs"
        value={colorScheme}
        onChange={(event) => setColorScheme(event.currentTarget.value as 'auto')}
        data={[
          { value: 'auto', label: 'System' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
      />
      <Button variant="default" onClick={() => void session.signOut().catch(notSignedOut)}>
        Sign out
      </Button>
    </Group>
  );
}
