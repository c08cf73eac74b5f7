/** The docs of this release, each read when it is opened. Anything may link to `/help/<name>`, or to `/help/<name>#<section>`. */
const FILES = import.meta.glob<string>('../../../docs/*.md', { query: '?raw', import: 'default' });

const NONE = '# Docs\n\nNo page of the docs has this name.';

/** Reads a page of the docs, or a sentence that there is none of this name. */
export const readPage = async (name: string): Promise<string> => (await FILES[`../../../docs/${name}.md`]?.()) ?? NONE;

/** The pages for those who use and run an installation, by what they want to do. */
export const HELP_PAGES: { title: string; pages: [name: string, title: string][] }[] = [
  {
    title: 'Run',
    pages: [
      ['dashboard', 'The dashboard'],
      ['runs', 'Runs'],
      ['chat-screen', 'The chat screen'],
      ['chat', 'Chat'],
      ['threads', 'Threads'],
      ['scheduling', 'Schedules'],
      ['webhooks', 'Webhooks'],
      ['budgets', 'Budgets'],
      ['fork-and-replay', 'Fork and replay'],
      ['evaluation', 'Evaluation'],
    ],
  },
  {
    title: 'Build',
    pages: [
      ['resources', 'Agents, tools and other resources'],
      ['models', 'Models and providers'],
      ['runtimes', 'Runtimes'],
      ['mcp', 'MCP servers'],
      ['builtin-tools', 'Built-in tools'],
      ['clients', 'Clients and the command line'],
      ['compatible-apis', 'Compatible APIs'],
      ['events', 'Events'],
    ],
  },
  {
    title: 'Operate',
    pages: [
      ['operations', 'Operations'],
      ['observe', 'Observe'],
      ['sign-in', 'Sign-in and people'],
      ['security', 'Security'],
      ['backups', 'Backups'],
      ['upgrades', 'Upgrades'],
      ['sizing', 'Sizing'],
      ['kubernetes', 'Kubernetes'],
      ['durability', 'Durability'],
      ['runbooks', 'Runbooks'],
    ],
  },
];
