import { ActionIcon, Button, Group } from '@mantine/core';
import { Minus, Plus } from 'lucide-react';
import { formatCount, formatDuration } from '../ui/figures.ts';
import { FILLS, type FillSum } from './span-fill.ts';
import type { Zoom } from './span-zoom.ts';

interface ToolsProps {
  sums: FillSum[];
  zoom: Zoom;
  /** True if a row with a bar is selected. */
  selected: boolean;
  set(zoom: 'whole' | 'rows' | 'selected' | 'in' | 'out'): void;
}

/** What the patterns stand for and how long each took together, and the part of the run that the axis shows. */
export function SpanTools({ sums, zoom, selected, set }: ToolsProps) {
  return (
    <div className="step-tools">
      <ul className="step-legend" aria-label="Where the time went">
        {sums.map(({ fill, count, ms }) => (
          <li key={fill} title={`${formatCount(count, 'row')}, ${formatDuration(ms)} together`}>
            <span className="step-swatch step-bar" data-fill={fill} aria-hidden="true" />
            {FILLS[fill]} <span className="step-sum">{formatDuration(ms)}</span>
          </li>
        ))}
      </ul>
      <Group gap={4} wrap="nowrap" role="group" aria-label="Zoom">
        <ActionIcon variant="default" size={26} aria-label="Zoom out" title="Zoom out (-)" onClick={() => set('out')}>
          <Minus size={14} aria-hidden />
        </ActionIcon>
        <ActionIcon variant="default" size={26} aria-label="Zoom in" title="Zoom in (+)" onClick={() => set('in')}>
          <Plus size={14} aria-hidden />
        </ActionIcon>
        {(['whole', 'rows'] as const).map((one) => (
          <Button
            key={one}
            variant={zoom === one ? 'light' : 'default'}
            size="compact-xs"
            h={26}
            aria-pressed={zoom === one}
            title={TITLES[one]}
            onClick={() => set(one)}
          >
            {LABELS[one]}
          </Button>
        ))}
        <Button
          variant="default"
          size="compact-xs"
          h={26}
          title="Selection (S)"
          disabled={!selected}
          onClick={() => set('selected')}
        >
          Selection
        </Button>
      </Group>
    </div>
  );
}

const LABELS = { whole: 'Whole run', rows: 'Rows in sight' };
const TITLES = { whole: 'Whole run (0)', rows: 'The axis follows the rows in sight (R)' };
