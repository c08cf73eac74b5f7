import { Kbd, Table } from '@mantine/core';
import { Page } from '../ui/page.tsx';
import { APPROVE_KEY, DENY_KEY, formatKey, NEXT_WAITING_KEY, PREVIOUS_WAITING_KEY } from './keys.ts';

const SHORTCUTS: [keys: string[], effect: string, between?: string][] = [
  [['Ctrl', 'K'], 'Go to a screen, a workflow, an agent or a run'],
  [['Ctrl', '/'], 'Show this page'],
  [['Ctrl', 'Enter'], 'Send the prompt that is being written'],
  [['Tab'], 'On a new page: “Skip to content” first'],
  [['Escape'], 'Close the innermost dialog or list'],
  [['↑', '↓'], 'Move in a list of choices; Enter chooses', 'or'],
  [[APPROVE_KEY, 'Enter'], 'On the page of a run: approve the call that waits, or submit the answer', 'then'],
  [[DENY_KEY, 'Enter'], 'On the page of a run: deny the call that waits, or decline to answer', 'then'],
  [[NEXT_WAITING_KEY, PREVIOUS_WAITING_KEY], 'On the page of a run: the next or the previous run that waits', 'or'],
  [['+', '-'], 'In the steps of a run: zoom in or out; 0 shows the whole run', 'or'],
  [['←', '→'], 'In the steps of a run: earlier or later', 'or'],
  [['R', 'S'], 'In the steps of a run: the rows in sight, or the selected row, in full width', 'or'],
];

export default function Shortcuts() {
  return (
    <Page title="Keyboard shortcuts">
      <Table maw="40rem">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Keys</Table.Th>
            <Table.Th>Effect</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {SHORTCUTS.map(([keys, effect, between = '+']) => (
            <Table.Tr key={effect}>
              <Table.Td className="nowrap">
                {keys.map((key, index) => (
                  <span key={key}>
                    {index > 0 && ` ${between} `}
                    <Kbd>{formatKey(key)}</Kbd>
                  </span>
                ))}
              </Table.Td>
              <Table.Td>{effect}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Page>
  );
}
