import { List } from '@mantine/core';
import type { Model } from '../../contracts/models.ts';
import { formatNumber } from '../ui/figures.ts';

type Windowed = Pick<Model, 'id' | 'context_window' | 'context_window_from'>;

const SOURCES: Record<NonNullable<Model['context_window_from']>, string> = {
  provider: ', as set for the provider',
  endpoint: ', as the endpoint says',
  known: ', from the table of known models',
};

/** Formats the size of a model's context window, and what it is known from. */
export const formatWindow = ({ context_window, context_window_from }: Windowed): string =>
  context_window === undefined
    ? 'context window not known, so DEFAULT_CONTEXT_WINDOW counts'
    : `context window of ${formatNumber(context_window)} tokens${context_window_from ? SOURCES[context_window_from] : ''}`;

const MOST_SHOWN = 40;

/** Lists models with their context windows. */
export function ModelWindows({ models }: { models: readonly Windowed[] }) {
  return <ModelLines lines={models.map((model) => `${model.id}: ${formatWindow(model)}`)} />;
}

/** Lists one line for each model. */
export function ModelLines({ lines }: { lines: readonly string[] }) {
  return (
    <List size="xs" c="dimmed" aria-label="Models" style={{ overflowWrap: 'anywhere' }}>
      {lines.slice(0, MOST_SHOWN).map((line) => (
        <List.Item key={line}>{line}</List.Item>
      ))}
      {lines.length > MOST_SHOWN && <List.Item>and {formatNumber(lines.length - MOST_SHOWN)} more</List.Item>}
    </List>
  );
}
