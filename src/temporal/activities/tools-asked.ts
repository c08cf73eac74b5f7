import type { Definition } from '../../domain/definition.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun } from '../../store/runs/runs.ts';

/** A step that needs its tools. */
export interface ToolsAsked {
  run: OpenRun;
  definition: Definition;
  /** Which of its tools the runtime takes, and which are elsewhere. */
  runtime: Pick<SelectedRuntime, 'custom_tools' | 'elsewhere'>;
  ready: Promise<unknown>;
}
