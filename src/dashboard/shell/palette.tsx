import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { PALETTE_KEYS } from './keys.ts';
import { NAVIGATION } from './navigation.ts';

const MOST_RUNS = 8;
const MOST_SHOWN = 30;

/** Finds screens, workflows, agents and runs by their words. */
export function Palette() {
  const [query, setQuery] = useState('');
  const [asked] = useDebouncedValue(query.trim(), 250);
  const [opened, setOpened] = useState(false);
  const navigate = useNavigate();
  const go = (id: string, label: string, to: string): SpotlightActionData => ({ id, label, onClick: () => void navigate(to) });
  const workflows = useNames('workflow', { enabled: opened });
  const agents = useNames('agent', { enabled: opened });
  const runs = useRead(tasks.list, { query: { q: asked, limit: MOST_RUNS } }, { enabled: opened && asked !== '' });
  const named = (group: string, slug: string, options: { value: string; label: string }[]) => ({
    group,
    actions: options.map(({ value, label }) => go(value, label, `/${slug}/${value}`)),
  });
  const groups = [
    ...NAVIGATION.map(({ title, links }) => ({ group: title, actions: links.map(([to, text]) => go(to, text, to)) })),
    { group: 'Help', actions: [go('/shortcuts', 'Keyboard shortcuts', '/shortcuts')] },
    named('Workflows', 'workflows', workflows.options),
    named('Agents', 'agents', agents.options),
  ];
  const words = query.trim().toLowerCase();
  const found = groups
    .map(({ group, actions }) => ({ group, actions: actions.filter(({ label }) => label?.toLowerCase().includes(words)) }))
    .filter(({ actions }) => actions.length > 0);
  // The service has searched them: their words may be in the answer.
  const found_runs = (words === '' ? [] : (runs.data?.items ?? [])).map(({ id, prompt, status }) => ({
    ...go(id, prompt.slice(0, 100) || '(empty)', `/tasks/${id}`),
    description: status,
  }));
  return (
    <Spotlight
      shortcut={PALETTE_KEYS}
      query={query}
      onQueryChange={setQuery}
      onSpotlightOpen={() => setOpened(true)}
      onSpotlightClose={() => setOpened(false)}
      clearQueryOnClose
      filter={(_, actions) => actions}
      actions={found_runs.length > 0 ? [...found, { group: 'Runs', actions: found_runs }] : found}
      limit={MOST_SHOWN}
      scrollable
      maxHeight="60vh"
      nothingFound="Nothing found"
      searchProps={{ placeholder: 'Go to a screen, a workflow, an agent or a run', 'aria-label': 'Go to' }}
    />
  );
}

export const openPalette = () => spotlight.open();
