import { Kbd, Table } from '@mantine/core';
import { Page } from '../ui/page.tsx';
import { formatKey } from './keys.ts';

const SHORTCUTS: [keys: string[], effect: string][] = [
  [['Ctrl', 'K'], 'Go to a screen, a workflow, an agent or a run'],
  [['Ctrl', '/'], 'Show this page'],
  [['Ctrl', 'Enter'], 'Send the prompt that is being written'],
  [['Tab'], 'On a new page: “Skip to content” first'],
  [['Escape'], 'Close the innermost dialog or list'],
  [['↑', '↓'], 'Move in a list of choices; Enter chooses'],
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
          {SHORTCUTS.map(([keys, effect]) => (
            <Table.Tr key={effect}>
              <Table.Td className="nowrap">
                {keys.map((key, index) => (
                  <span key={key}>
                    {index > 0 && (key === '↓' ? ' or ' : ' + ')}
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
