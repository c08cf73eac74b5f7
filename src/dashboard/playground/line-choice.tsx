import { Checkbox, Stack } from '@mantine/core';
import { type Kind, useReferenceText } from '../resources/references.ts';
import { TextDiff, textToCompare } from '../ui/diff.tsx';
import type { SaveLine } from './save-lines.ts';

const KIND_OF: Record<string, Kind> = {
  provider_id: 'provider',
  custom_tool_ids: 'custom_tool',
  builtin_tools: 'builtin_tool',
  mcp_server_ids: 'mcp',
};

interface LineProps {
  line: SaveLine;
  checked: boolean;
  set(checked: boolean): void;
}

/** Shows one field to save, with its difference from the stored value. */
export function LineChoice({ line, checked, set }: LineProps) {
  const { name, place } = line;
  const kind = KIND_OF[name];
  return (
    <Stack gap={4}>
      <Checkbox
        label={`${name.replace(/_ids$/, 's').replace(/_id$/, '').replaceAll('_', ' ')} of the ${place}`}
        checked={checked}
        onChange={(event) => set(event.currentTarget.checked)}
      />
      {kind ? <ReferenceDiff line={line} kind={kind} /> : <Diff line={line} textOf={formatPlain} />}
    </Stack>
  );
}

const formatPlain = (value: unknown) => (value === null ? 'none' : textToCompare(value));

function ReferenceDiff({ line, kind }: { line: SaveLine; kind: Kind }) {
  return <Diff line={line} textOf={useReferenceText(kind)} />;
}

const Diff = ({ line: { name, before, after }, textOf }: { line: SaveLine; textOf(value: unknown): string }) => (
  <TextDiff before={textOf(before)} after={textOf(after)} label={`${name}, stored and new`} />
);
