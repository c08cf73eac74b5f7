import { v7 as uuid } from 'uuid';
import { type Alert, type AlertChannel, alerts, MOST_ADDRESSES, MOST_ALERTS } from '../../contracts/alerts.ts';
import { listAddresses, showAddress, toTestMessage } from '../../domain/alerts.ts';
import { conflict, foreign, unprocessable } from '../../domain/errors.ts';
import type { Mailer } from '../../egress/mailer.ts';
import type { SendMessage } from '../../egress/message-sender.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { getOwnAlert, refuseForeignWorkflow } from '../checks/owned.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

interface Services {
  store: Store;
  dollar_limits: LimitChecks;
  mailer: Pick<Mailer, 'refusal'>;
  sendMessage: SendMessage;
}

/** How many addresses are tried at a time: a mail server takes few connections of one client. */
const AT_A_TIME = 10;

export function alertRoutes(api: Api, { store, dollar_limits, mailer, sendMessage }: Services): void {
  const getOwn = getOwnAlert(store);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(alerts.get.reply, await getOwn((params as { id: string }).id, caller));

  mount(api, alerts.list, ({ query }, caller) => store.alerts.list({ ...query, owner: caller.key }));
  mount(api, alerts.get, ({ params: { id } }, caller) => getOwn(id, caller));
  mount(api, alerts.create, ({ body, reserved_id, warn }, caller) =>
    createOnce<Alert>(reserved_id, store.alerts.find, async () => {
      if (body.workflow_id) await refuseForeignWorkflow(store, body.workflow_id, caller);
      await refuseWrongBudget(store, body, caller);
      refuseRecipients(mailer, body.channels);
      warn(...(await dollar_limits.checkSpendAlert(body, caller)));
      if ((await store.alerts.countOwned(caller.key)) >= MOST_ALERTS)
        throw conflict(`You have ${MOST_ALERTS} alerts, the most that one person may have; delete one first`, 'alerts_limit');
      return store.alerts.create({ ...body, id: reserved_id, owner: caller.key });
    }),
  );
  mount(
    api,
    alerts.update,
    async ({ params: { id }, body, warn }, caller) => {
      const before = await getOwn(id, caller);
      if (body.workflow_id) await refuseForeignWorkflow(store, body.workflow_id, caller);
      await refuseWrongBudget(store, { ...before, ...body }, caller);
      refuseRecipients(mailer, body.channels ?? []);
      warn(...(await dollar_limits.checkSpendAlert({ ...before, ...body }, caller)));
      return store.alerts.update(id, body);
    },
    { current },
  );
  mount(
    api,
    alerts.remove,
    async ({ params: { id } }, caller) => {
      await getOwn(id, caller);
      await store.alerts.remove(id);
    },
    { current },
  );
  mount(api, alerts.test, async ({ params: { id }, signal }, caller) => {
    const alert = await getOwn(id, caller);
    const addresses = listAddresses(await store.alerts.findTargets(id));
    if (addresses.length === 0)
      throw conflict('The alert sends its messages nowhere; set `webhook_url` or `channels`', 'no_channel');
    const payload = toTestMessage({ ...alert, value: alert.last_value ?? 0 }, new Date().toISOString());
    const send = async ({ channel, url }: (typeof addresses)[number]) => {
      const message = { id: uuid(), channel, url, payload, owner: caller.key };
      const { delivered, error } = await sendMessage(message, signal);
      return { channel, to: showAddress(url), delivered, error };
    };
    const results = [];
    for (let from = 0; from < addresses.length; from += AT_A_TIME)
      results.push(...(await Promise.all(addresses.slice(from, from + AT_A_TIME).map(send))));
    return { results };
  });
  mount(api, alerts.events, async ({ params: { id }, query }, caller) => {
    await getOwn(id, caller);
    return store.alerts.listEvents(id, query);
  });
}

/** Throws if the operator does not allow e-mail to one of the recipients. */
function refuseRecipients(mailer: Pick<Mailer, 'refusal'>, channels: readonly AlertChannel[]): void {
  const faults = channels.flatMap((channel, at) =>
    channel.type === 'email'
      ? channel.to.map((address, nth) => ({ path: `channels.${at}.to.${nth}`, message: mailer.refusal(address) }))
      : [],
  );
  const refusals = faults.flatMap(({ path, message }) => (message === null ? [] : [{ path, message }]));
  if (refusals.length > 0) throw unprocessable(refusals);
  const addresses = listAddresses({ webhook_url: null, channels: [...channels] });
  if (addresses.length > MOST_ADDRESSES)
    throw unprocessable([
      { path: 'channels', message: `Names ${addresses.length} addresses; at most ${MOST_ADDRESSES} are taken` },
    ]);
}

type Watched = Pick<Alert, 'measure' | 'workflow_id' | 'budget_id'>;

/** Throws if an alert about a budget names none, or one that the caller may not watch; and if another alert names one. */
async function refuseWrongBudget(store: Store, { measure, workflow_id, budget_id }: Watched, caller: Caller): Promise<void> {
  const refuse = (path: string, message: string) => unprocessable([{ path, message }]);
  if (measure !== 'budget') {
    if (budget_id) throw refuse('budget_id', 'Only an alert with the measure budget has a `budget_id`');
    return;
  }
  if (workflow_id) throw refuse('workflow_id', 'An alert about a budget has no `workflow_id`; leave it out');
  if (!budget_id) throw refuse('budget_id', 'Name the id of the budget that the alert watches');
  const budget = await store.budgets.find(budget_id);
  if (!budget) throw refuse('budget_id', `No budget with id ${budget_id}`);
  if (budget.owner !== null && budget.owner !== caller.key && budget.created_by !== caller.key) throw foreign('budget');
}
