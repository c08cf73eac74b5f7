import type { FinishPorts } from '../../../temporal/activities/finish.ts';
import { type ContinuityPorts, restart } from '../../../temporal/start/continuity.ts';

interface StarterPorts extends Omit<ContinuityPorts, 'store'> {
  store: ContinuityPorts['store'] & { messages: { isHandedOver(task_id: string): Promise<boolean> } };
  log(line: string): void;
}

/** Starts the runs of turns that a run's end has begun for messages which it had not read. */
export const handedOverStarter =
  ({ log, ...ports }: StarterPorts): FinishPorts['startHandedOver'] =>
  async (task_id) => {
    try {
      if (!(await ports.store.messages.isHandedOver(task_id))) return;
      const task = await ports.store.tasks.findUnfinished(task_id);
      if (task) await restart(ports, task);
    } catch (error) {
      log(`The run ${task_id} is started later: ${(error as Error).message}`);
    }
  };
