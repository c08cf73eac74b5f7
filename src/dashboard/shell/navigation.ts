import type { Scope } from '../../domain/access.ts';
import { SCOPES_OF } from '../../domain/access.ts';

/** `needs` hides the link from those who do not have the scope. */
type Link = [to: string, text: string, needs?: Scope];

/** The screens in groups: what needs attention, what runs, what it costs, what agents are made of, and the installation. */
export const NAVIGATION: { title: string; links: Link[] }[] = [
  {
    title: 'Now',
    links: [
      ['/', 'Overview'],
      ['/inbox', 'Inbox'],
      ['/tasks', 'Tasks'],
      ['/chat', 'Chat'],
    ],
  },
  {
    title: 'Automate',
    links: [
      ['/workflows', 'Workflows'],
      ['/scheduled-agents', 'Schedules'],
      ['/datasets', 'Datasets'],
    ],
  },
  {
    title: 'Watch',
    links: [
      ['/usage', 'Usage'],
      ['/budgets', 'Budgets'],
      ['/alerts', 'Alerts'],
    ],
  },
  {
    title: 'Agents',
    links: [
      ['/make', 'Make your own', 'write'],
      ['/agents', 'Agents'],
      ['/skills', 'Skills'],
      ['/guardrails', 'Guardrails'],
      ['/memories', 'Memories'],
    ],
  },
  {
    title: 'Tools and knowledge',
    links: [
      ['/custom-tools', 'Custom tools'],
      ['/mcps', 'MCP servers'],
      ['/knowledge-sources', 'Sources'],
      ['/knowledge-items', 'Items'],
    ],
  },
  {
    title: 'Installation',
    links: [
      ['/providers', 'Providers'],
      ['/tokens', 'Stored tokens'],
      ['/keys', 'Service keys'],
      ['/transfer', 'Import and export'],
      ['/audit', 'Audit', 'audit'],
      ['/system', 'System', 'audit'],
    ],
  },
];

/** Returns the links that the scopes allow; until the scopes are known, those of an editor. */
export const filterLinks = (links: readonly Link[], scopes: readonly Scope[] | undefined): readonly Link[] =>
  links.filter(([, , needs]) => !needs || (scopes ?? SCOPES_OF.editor).includes(needs));
