import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RunActivities } from '../activities/index.ts';

const { deliver } = proxyActivities<Pick<RunActivities, 'deliver'>>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '24h',
  retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1h' },
});

const { giveUpDelivery } = proxyLocalActivities<Pick<RunActivities, 'giveUpDelivery'>>({ startToCloseTimeout: '30s' });

/** Delivers one message, with retries for 24 hours at growing intervals. Fails if it gives up, so that operators see it. */
export async function webhookDelivery(delivery_id: string): Promise<void> {
  try {
    await deliver(delivery_id);
  } catch (error) {
    await giveUpDelivery(delivery_id);
    throw error;
  }
}
