import { threadMessages } from '../../contracts/thread-messages.ts';
import { conflict, notFound } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { StoredReceipt } from '../../store/runs/thread-messages.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { getHome, getOwnTask, getOwnThread } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import { type Attach, parseAttachments } from './attachments.ts';

interface Services {
  store: Store;
  attach: Attach;
  dispatch: Dispatch;
}

interface MessagePlace {
  id: string;
  message_id: string;
}

/** How often a message may go to another run while it is being withdrawn. */
const ATTEMPTS = 3;

export function threadMessageRoutes(api: Api, { store, attach, dispatch }: Services): void {
  const getOfThread = async ({ id, message_id }: MessagePlace, caller: Caller) => {
    await getOwnThread(store)(id, caller);
    return findMessage(store, message_id, ({ thread_id }) => thread_id === id, 'thread');
  };
  const getOfTask = async ({ id, message_id }: MessagePlace, caller: Caller) => {
    const { workflow_id } = await getOwnTask(store)(id, caller);
    return findMessage(store, message_id, (message) => message.workflow_id === workflow_id, 'task');
  };
  const withdraw = async (message: StoredReceipt): Promise<StoredReceipt> => {
    const { id } = message;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const task_id = await store.messages.withdraw(message);
      // The turn cannot begin any more. If it cannot be ended now, it ends when its lane is free.
      if (task_id === id) await dispatch.halt(id).catch(() => {});
      const now = (await store.messages.find(id))!;
      if (task_id !== null || now.state === 'withdrawn') return now;
      if (now.state !== 'pending')
        throw conflict(`This message is ${now.state} already; it cannot be withdrawn`, `message_${now.state}`);
    }
    throw conflict('The message goes from one run to another just now; try again in a moment', 'message_moving');
  };

  mount(api, threadMessages.create, async ({ params: { id }, body, reserved_id, claim, note }, caller) => {
    const workflow_id = getHome(await getOwnThread(store)(id, caller));
    const { message, when_busy, metadata } = body;
    const sent = await dispatch.send({
      task_id: reserved_id,
      claim,
      workflow_id,
      thread_id: id,
      owner: caller.key,
      owner_login: caller.login,
      access_token: caller.access_token,
      service_key_id: caller.service_key?.id,
      prompt: message,
      attachments: await attach(parseAttachments(body.attachments), caller.key),
      on_busy: when_busy,
      receipt: { when_busy, metadata },
      trigger: 'thread',
    });
    if ('started' in sent) note(...sent.started.warnings.map((warning) => ({ path: 'message', message: warning })));
    const message_id = 'started' in sent ? sent.started.task_id : sent.steered.id;
    return (await store.messages.find(message_id))!;
  });
  mount(api, threadMessages.list, async ({ params: { id }, query }, caller) => {
    await getOwnThread(store)(id, caller);
    return store.messages.list(id, query);
  });
  mount(api, threadMessages.get, ({ params }, caller) => getOfThread(params, caller));
  mount(api, threadMessages.withdraw, async ({ params }, caller) => withdraw(await getOfThread(params, caller)), {
    current: async ({ params }, caller) => toReply(threadMessages.get.reply, await getOfThread(params as MessagePlace, caller)),
  });
  mount(api, threadMessages.ofTask, ({ params }, caller) => getOfTask(params, caller));
  mount(api, threadMessages.withdrawFromTask, async ({ params }, caller) => withdraw(await getOfTask(params, caller)), {
    current: async ({ params }, caller) => toReply(threadMessages.get.reply, await getOfTask(params as MessagePlace, caller)),
  });
}

async function findMessage(
  { messages }: Pick<Store, 'messages'>,
  id: string,
  belongs: (message: StoredReceipt) => boolean,
  place: string,
): Promise<StoredReceipt> {
  const message = await messages.find(id);
  if (!message || !belongs(message)) throw notFound(`message of this ${place}`, id);
  return message;
}
