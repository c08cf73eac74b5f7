import {
  Ban,
  Circle,
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CirclePause,
  CircleStop,
  CircleX,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  TriangleAlert,
} from 'lucide-react';

/** What a state means for the reader. Each tone has a colour and an icon, so that neither has to be seen alone. */
export type Tone = 'good' | 'bad' | 'wait' | 'busy' | 'stopped' | 'quiet';

/** The tone of each state that the service names; all others are quiet. */
const TONES: Record<string, Tone> = {
  completed: 'good',
  connected: 'good',
  delivered: 'good',
  passed: 'good',
  done: 'good',
  indexed: 'good',
  started: 'good',
  backfilled: 'good',
  enabled: 'good',
  failed: 'bad',
  error: 'bad',
  refused: 'bad',
  denied: 'bad',
  missed: 'bad',
  waiting: 'wait',
  paused: 'wait',
  waiting_approval: 'wait',
  waiting_reconciliation: 'wait',
  waiting_client: 'wait',
  waiting_answer: 'wait',
  text_only: 'wait',
  skipped: 'wait',
  halted: 'stopped',
  stopped: 'stopped',
  running: 'busy',
  firing: 'bad',
};

const ICON_OF_TONE: Record<Tone, LucideIcon> = {
  good: CircleCheck,
  bad: CircleX,
  wait: Hourglass,
  busy: LoaderCircle,
  stopped: CircleStop,
  quiet: Circle,
};

/** States whose icon says more than that of their tone. */
const ICONS: Record<string, LucideIcon> = {
  pending: CircleDashed,
  queued: CircleDashed,
  not_started: CircleDashed,
  paused: CirclePause,
  off: CircleMinus,
  skipped: CircleMinus,
  denied: Ban,
  refused: Ban,
  firing: TriangleAlert,
  error: TriangleAlert,
};

export const findTone = (state: string): Tone => TONES[state] ?? 'quiet';

/** Returns the icon of a state. A tone other than the state's own decides over the icon too. */
export function findIcon(state: string, tone: Tone): LucideIcon {
  const of_tone = ICON_OF_TONE[tone];
  return tone === findTone(state) ? (ICONS[state] ?? of_tone) : of_tone;
}
