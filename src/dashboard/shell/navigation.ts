type Link = [to: string, text: string];

export const NAVIGATION: { title: string; links: Link[] }[] = [
  {
    title: 'Runs',
    links: [
      ['/', 'Overview'],
      ['/workflows', 'Workflows'],
      ['/tasks', 'Tasks'],
      ['/scheduled-agents', 'Schedules'],
      ['/chat', 'Chat'],
      ['/datasets', 'Datasets'],
      ['/usage', 'Usage'],
      ['/alerts', 'Alerts'],
    ],
  },
  {
    title: 'Agents',
    links: [
      ['/make', 'Make your own'],
      ['/agents', 'Agents'],
      ['/skills', 'Skills'],
      ['/guardrails', 'Guardrails'],
      ['/memories', 'Memories'],
    ],
  },
  {
    title: 'Tools',
    links: [
      ['/custom-tools', 'Custom tools'],
      ['/mcps', 'MCP servers'],
    ],
  },
  {
    title: 'Knowledge',
    links: [
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
    ],
  },
];
