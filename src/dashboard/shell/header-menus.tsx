import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { BookOpen, Check, CircleQuestionMark, CodeXml, Keyboard, type LucideIcon, Monitor, Moon, Sun } from 'lucide-react';
import { Link } from 'react-router';

const ICON_SIZE = 17;

/** Leads to the docs of this release, to the reference of its API and to the keys. */
export function HelpMenu() {
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Help" title="Help">
          <CircleQuestionMark size={ICON_SIZE} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/help" leftSection={<BookOpen size={15} aria-hidden />}>
          Docs
        </Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank" leftSection={<CodeXml size={15} aria-hidden />}>
          API reference
        </Menu.Item>
        <Menu.Item component={Link} to="/shortcuts" leftSection={<Keyboard size={15} aria-hidden />}>
          Keyboard shortcuts
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const THEMES: [name: 'auto' | 'light' | 'dark', label: string, Icon: LucideIcon][] = [
  ['auto', 'System', Monitor],
  ['light', 'Light', Sun],
  ['dark', 'Dark', Moon],
];

export function ThemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [, , Current] = THEMES.find(([name]) => name === colorScheme)!;
  return (
    <Menu position="bottom-end" width={160}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Theme" title="Theme">
          <Current size={ICON_SIZE} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {THEMES.map(([name, label, Icon]) => (
          <Menu.Item
            key={name}
            leftSection={<Icon size={15} aria-hidden />}
            rightSection={name === colorScheme && <Check size={15} aria-label="chosen" />}
            onClick={() => setColorScheme(name)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
