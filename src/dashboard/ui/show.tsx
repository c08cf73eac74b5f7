import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { indentExactly } from '../../domain/exact-json.ts';
import { showUnseen } from '../../domain/unseen.ts';
import { Copyable } from './copy.tsx';
import { parseJson } from './json.ts';
import { ScrollBox } from './scroll-box.tsx';
import { findIcon, findTone, type Tone } from './tones.ts';

const WORDS: Record<string, string> = {
  waiting_approval: 'waiting for approval',
  waiting_reconciliation: 'waiting for reconciliation',
  waiting_client: 'waiting for the client',
  waiting_answer: 'waiting for an answer',
  text_only: 'keyword search only',
  not_started: 'not started',
};

interface StatusProps {
  /** The state, in the word of the API. */
  of: string;
  /** A tone other than the state's own. */
  tone?: Tone | undefined;
  /** The text instead of the state's word. It has no tint, because it may be a sentence. */
  children?: ReactNode;
}

/** A state: an icon and a word on a tint. Every state on a screen is shown with this. */
export function Status({ of, tone = findTone(of), children }: StatusProps) {
  const Icon = findIcon(of, tone);
  const is_line = children !== undefined;
  return (
    <span className="status" data-tone={tone} data-look={is_line ? 'line' : 'badge'}>
      <Icon className="status-icon" aria-hidden />
      <span>{is_line ? children : (WORDS[of] ?? of.replaceAll('_', ' '))}</span>
    </span>
  );
}

/** The result of a test, in a few words. */
export function TestVerdict({ good, yes, no }: { good: boolean; yes: string; no: string | null | undefined }) {
  return <Status of={good ? 'done' : 'failed'}>{good ? yes : (no ?? 'Failed')}</Status>;
}

/** Labelled facts on one line. */
export function Facts({ of }: { of: Record<string, ReactNode> }) {
  return (
    <dl className="facts">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/**
 * Shows text unchanged but with invisible characters marked; JSON and other values are formatted. A long text scrolls, by
 * keyboard too.
 */
export function Code({ children, label }: { children: unknown; label: string }) {
  const text = pretty(children);
  return (
    <Copyable text={text} what={label}>
      <ScrollBox className="code" label={label}>
        <pre dir="auto">{showUnseen(text)}</pre>
      </ScrollBox>
    </Copyable>
  );
}

function pretty(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  const read = /^\s*[{[]/.test(value) ? parseJson(value, indentExactly) : null;
  return read && 'value' in read ? (read.value as string) : value;
}

export function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      {children}
    </div>
  );
}
