/** The part of a task that its events name. */
interface TaskPlace {
  task_id: string;
  workflow_id: string;
  turns: number;
}

/** Parks the run of this activity if its record lacks something that the engine has. */
export type ParkBehind = (task: TaskPlace, missing: string) => Promise<unknown>;

export async function parkRunBehind(
  { parkBehind }: { parkBehind: ParkBehind },
  { task_id, workflow_id, turns }: TaskPlace,
  missing: string,
): Promise<'behind'> {
  await parkBehind({ task_id, workflow_id, turns }, missing);
  return 'behind';
}
