import { List } from '@mantine/core';
import type { Model } from '../../contracts/models.ts';
import { formatNumber } from '../ui/figures.ts';

type Windowed = Pick<Model, 'id' | 'context_window' | 'context_window_from'>;

const SOURCES: Record<NonNullable<Model['context_window_from']>, string> = {
  provider: 'as set for the provider',
  endpoint: 'as the endpoint says',
  known: 'from the table of known models',
};

/** Formats the size of a model's context window, and what it is known from. */
const formatWindow = ({ context_window, context_window_from }: Windowed): string =>
  context_window_from
    ? `context window of ${formatNumber(context_window!)} tokens, ${SOURCES[context_window_from]}`
    : 'context window not known, so DEFAULT_CONTEXT_WINDOW counts';

type Described = Windowed & Pick<Model, 'priced' | 'ends_on' | 'successor'>;

/** Describes what a person should know before choosing a model: its window, that its price is unknown, and its end. */
export const describeModel = (model: Described): string =>
  [
    formatWindow(model),
    ...(model.priced ? [] : ['no price known']),
    ...(model.ends_on ? [`ends on ${model.ends_on}${model.successor ? `, its vendor recommends ${model.successor}` : ''}`] : []),
  ].join('; ');

const MOST_SHOWN = 40;

/** Lists models with what is known about them. */
export function ModelWindows({ models }: { models: readonly Described[] }) {
  return <ModelLines lines={models.map((model) => `${model.id}: ${describeModel(model)}`)} />;
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
