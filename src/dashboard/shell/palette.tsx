import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { useScopes } from '../api/may.ts';
import { useRead } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { useLayer } from '../ui/layers.ts';
import { shortenPrompt } from '../ui/prompt.ts';
import { findScreenIcon } from './icons.ts';
import { PALETTE_KEYS } from './keys.ts';
import { filterLinks, NAVIGATION } from './navigation.ts';

const MOST_RUNS = 8;
const MOST_SHOWN = 30;

/** Searches screens, workflows, agents, datasets and runs by their words. */
export function Palette() {
  const [query, setQuery] = useState('');
  const [search] = useDebouncedValue(query.trim(), 250);
  const [opened, setOpened] = useState(false);
  useLayer(opened, () => spotlight.close());
  const navigate = useNavigate();
  const go = (id: string, label: string, to: string): SpotlightActionData => {
    const Icon = findScreenIcon(to);
    return { id, label, leftSection: <Icon size={16} aria-hidden />, onClick: () => void navigate(to) };
  };
  const workflows = useNames('workflow', { enabled: opened });
  const agents = useNames('agent', { enabled: opened });
  const datasets = useNames('dataset', { enabled: opened });
  const runs = useRead(tasks.list, { query: { q: search, limit: MOST_RUNS, count_to: 1 } }, { enabled: opened && search !== '' });
  const buildGroup = (group: string, slug: string, options: { value: string; label: string }[]) => ({
    group,
    actions: options.map(({ value, label }) => go(value, label, `/${slug}/${value}`)),
  });
  const { scopes } = useScopes();
  const screens = [
    ...NAVIGATION.flatMap(({ links }) => filterLinks(links, scopes)),
    ['/shortcuts', 'Keyboard shortcuts'] as const,
  ];
  const groups = [
    { group: 'Screens', actions: screens.map(([to, text]) => go(to, text, to)) },
    buildGroup('Workflows', 'workflows', workflows.options),
    buildGroup('Agents', 'agents', agents.options),
    buildGroup('Datasets', 'datasets', datasets.options),
  ];
  const words = query.trim().toLowerCase();
  const matches = groups
    .map(({ group, actions }) => ({ group, actions: actions.filter(({ label }) => label?.toLowerCase().includes(words)) }))
    .filter(({ actions }) => actions.length > 0);
  // The service has searched these runs: the words may be in the answer.
  const found_runs = (words === '' ? [] : (runs.data?.items ?? [])).map(({ id, prompt, status }) => ({
    ...go(id, shortenPrompt(prompt, 100), `/tasks/${id}`),
    description: status,
  }));
  const visible_groups = found_runs.length > 0 ? [...matches, { group: 'Runs', actions: found_runs }] : matches;
  useFirstSelected(opened ? visible_groups.flatMap(({ actions }) => actions.map(({ id }) => id)).join() : '');
  return (
    <Spotlight
      shortcut={PALETTE_KEYS}
      query={query}
      onQueryChange={setQuery}
      onSpotlightOpen={() => setOpened(true)}
      onSpotlightClose={() => setOpened(false)}
      clearQueryOnClose
      filter={(_, actions) => actions}
      actions={visible_groups}
      limit={MOST_SHOWN}
      scrollable
      maxHeight="60vh"
      nothingFound="Nothing found"
      attributes={{ content: { 'aria-label': 'Go to' } }}
      searchProps={{ placeholder: 'Screen, workflow, agent or run', 'aria-label': 'Go to' }}
    />
  );
}

/** Selects the first entry for Enter, even if the entries changed after the last key. */
function useFirstSelected(entries: string): void {
  useEffect(() => {
    const all = entries === '' ? [] : [...document.querySelectorAll('[data-action]')];
    if (!all.some((entry) => entry.hasAttribute('data-selected'))) all[0]?.setAttribute('data-selected', 'true');
  }, [entries]);
}

export const openPalette = () => spotlight.open();
