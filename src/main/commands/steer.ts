import { text } from 'node:stream/consumers';
import type { Config } from '../config.ts';
import { formatReceipt } from '../conversation/conversation.ts';
import { steerRun, waitForReceipt } from '../conversation/messages.ts';
import { parseCommand } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura steer`: prints the receipt; with --wait the final one, and ends with 1 if no run reads the message. */
export default async function steer(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('steer', args);
  const [task_id = '', words = ''] = given.words;
  const client = await remoteClient(config);
  const message = words === '-' ? await text(process.stdin) : words;
  const sent = await steerRun(client, task_id, message);
  const receipt = given.has('wait') ? await waitForReceipt(client, sent) : sent;
  if (given.has('json')) sayJson(receipt);
  else say(`Message ${receipt.id} ${formatReceipt(receipt)}`);
  if (receipt.state === 'refused' || receipt.state === 'withdrawn') process.exitCode = 1;
}
