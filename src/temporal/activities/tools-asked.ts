import type { Definition } from '../../domain/definition.ts';
import type { NewEvent } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun } from '../../store/runs/runs.ts';

/** The query for the tools of a step. */
export interface ToolsAsked {
  run: OpenRun;
  definition: Definition;
  /** The tools that the runtime accepts, and those that the vendor runs. */
  runtime: Pick<SelectedRuntime, 'custom_tools' | 'vendor_tools'>;
  ready: Promise<unknown>;
  /** Publishes events about what takes long, after `ready`; absent: nothing has to be asked. */
  publish?(events: NewEvent[]): Promise<void>;
}
