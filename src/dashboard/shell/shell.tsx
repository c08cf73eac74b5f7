import { ActionIcon, AppShell, Burger, Group, ScrollArea, Text } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { LogOut, Search } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { Link, NavLink, ScrollRestoration, useLocation, useNavigate } from 'react-router';
import { me } from '../../contracts/me.ts';
import { useSession } from '../api/context.tsx';
import { useScopes } from '../api/may.ts';
import { useRead } from '../api/queries.ts';
import { lastSeen } from '../ui/filters.ts';
import { useLayer } from '../ui/layers.ts';
import { BrandMark } from '../ui/mark.tsx';
import { Banners } from './banners.tsx';
import { HelpMenu, ThemeMenu } from './header-menus.tsx';
import { findScreenIcon } from './icons.ts';
import { formatKey, SHORTCUTS_KEYS } from './keys.ts';
import { filterLinks, NAVIGATION } from './navigation.ts';
import { openPalette, Palette } from './palette.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [opened, menu] = useDisclosure();
  useLayer(opened, menu.close);
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
        header={{ height: 52 }}
        navbar={{ width: 212, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding={0}
        transitionDuration={0}
      >
        <AppShell.Header className="shell-bar">
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <Burger opened={opened} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Menu" aria-expanded={opened} />
              <Link className="wordmark" to="/" aria-label="Perdura">
                <BrandMark />
                <span className="wordmark-text">Perdura</span>
              </Link>
            </Group>
            <Account />
          </Group>
        </AppShell.Header>
        <AppShell.Navbar component="nav" aria-label="Main" className="shell-nav">
          <ScrollArea h="100%" type="hover" scrollbarSize={6} px="xs" pb="md">
            <Menu />
          </ScrollArea>
        </AppShell.Navbar>
        <AppShell.Main id="content" className="shell-main" tabIndex={-1} style={{ outline: 'none' }}>
          <Banners />
          <div className="content">{children}</div>
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
            <ScreenLink key={to} to={to} pathname={pathname}>
              {text}
            </ScreenLink>
          ))}
        </div>
      ))}
    </>
  );
}

function ScreenLink({ to, pathname, children }: { to: string; pathname: string; children: string }) {
  const Icon = findScreenIcon(to);
  return (
    <NavLink to={pathname === to ? to : lastSeen(to)} end={to === '/'} className="nav-link">
      <Icon aria-hidden />
      {children}
    </NavLink>
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
  const { data: who } = useRead(me.get);
  return (
    <Group gap={6} wrap="nowrap">
      <button type="button" className="go-to" onClick={openPalette} aria-label="Go to …">
        <Search aria-hidden />
        <span className="go-to-text">Go to …</span>
        <span className="keys" data-keys={`${formatKey('Ctrl')} K`} />
      </button>
      <HelpMenu />
      <ThemeMenu />
      {who && (
        <Text
          size="sm"
          className="clip clip-short"
          title={`Signed in as ${who.login} (${who.provider})`}
          visibleFrom="sm"
          ml="xs"
        >
          {who.login}
        </Text>
      )}
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Sign out"
        title="Sign out"
        onClick={() => void session.signOut().catch(notSignedOut)}
      >
        <LogOut size={17} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
