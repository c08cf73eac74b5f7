import { ApplicationFailure, Context } from '@temporalio/activity';
import type { SendMessage } from '../../egress/message-sender.ts';
import type { WebhookStore } from '../../store/runs/webhooks.ts';

export interface DeliverPorts {
  webhooks: Pick<WebhookStore, 'open' | 'note' | 'giveUp'>;
  sendMessage: SendMessage;
}

/** Makes one attempt to deliver a message and always records the result. Throws if another attempt may succeed. */
export const deliverActivity =
  ({ webhooks, sendMessage }: DeliverPorts) =>
  async (delivery_id: string): Promise<void> => {
    const delivery = await webhooks.open(delivery_id);
    if (delivery?.status !== 'pending') return;
    const { delivered, response_status, error, retry } = await sendMessage(delivery, Context.current().cancellationSignal);
    await webhooks.note(delivery_id, { delivered, response_status, error });
    if (!delivered) throw ApplicationFailure.create({ message: error!, type: 'undelivered', nonRetryable: !retry });
  };

/** Records that no further delivery attempt will be made. */
export const giveUpDeliveryActivity =
  ({ webhooks }: DeliverPorts) =>
  (delivery_id: string): Promise<void> =>
    webhooks.giveUp(delivery_id);
