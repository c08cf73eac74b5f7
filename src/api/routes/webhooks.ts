import { webhooks } from '../../contracts/webhooks.ts';
import { conflict, notFound } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { Engine } from '../../temporal/client/engine.ts';
import { getOwnTask } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';

export function webhookRoutes(api: Api, { store, engine }: { store: Store; engine: Engine }): void {
  const getOwn = getOwnTask(store);
  mount(api, webhooks.list, async ({ params: { id } }, caller) => {
    await getOwn(id, caller);
    const items = await store.webhooks.listDeliveries(id);
    return { items, total: items.length, next: null };
  });
  mount(api, webhooks.redeliver, async ({ params: { id, delivery_id } }, caller) => {
    const task = await getOwn(id, caller);
    const delivery = (await store.webhooks.listDeliveries(id)).find((one) => one.id === delivery_id);
    if (!delivery) throw notFound('webhook delivery of this task', delivery_id);
    if (!(await store.webhooks.reopen(delivery_id)))
      throw conflict('This message is being delivered already', 'delivery_under_way');
    try {
      await engine.deliver({ id: delivery_id, owner: task.owner }, { restart: true });
    } catch (error) {
      await store.webhooks.restore(delivery_id, delivery.status);
      throw error;
    }
    return { ...delivery, status: 'pending' as const };
  });
}
