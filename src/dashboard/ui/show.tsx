import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { indentExactly } from '../../domain/exact-json.ts';
import { showUnseen } from '../../domain/unseen.ts';
import { Copyable } from './copy.tsx';
import { parseJson } from './json.ts';
import { ScrollBox } from './scroll-box.tsx';

const TONES: Record<string, string> = {
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
  running: 'busy',
  firing: 'busy',
};

const WORDS: Record<string, string> = {
  waiting_approval: 'waiting for approval',
  waiting_reconciliation: 'waiting for reconciliation',
  waiting_client: 'waiting for the client',
  waiting_answer: 'waiting for an answer',
  text_only: 'keyword search only',
  not_started: 'not started',
};

export function Status({ of, tone, children }: { of: string; tone?: string; children?: ReactNode }) {
  return (
    <span className="status" data-tone={tone ?? TONES[of] ?? 'quiet'}>
      {children ?? WORDS[of] ?? of.replaceAll('_', ' ')}
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
