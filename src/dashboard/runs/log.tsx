import { Table, Text } from '@mantine/core';
import { ScrollBox } from '../ui/scroll-box.tsx';
import type { LogLine } from './run-state.ts';

export function Log({ lines }: { lines: LogLine[] }) {
  if (lines.length === 0) return <Text c="dimmed">Nothing has been logged yet.</Text>;
  return (
    <ScrollBox className="table-scroll" label="Log">
      <Table verticalSpacing={2}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            <Table.Th>Event</Table.Th>
            <Table.Th>Detail</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map(({ event, detail, timestamp }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only ever added at the end
            <Table.Tr key={index}>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>
                <time dateTime={timestamp}>{timestamp.slice(11, 23)}</time>
              </Table.Td>
              <Table.Td className="mono">{event}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{detail}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollBox>
  );
}
