import type { Definition } from '../../domain/definition.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun } from '../../store/runs.ts';

/** A step that needs its tools. */
export interface ToolsAsked {
  run: OpenRun;
  definition: Definition;
  runtime: SelectedRuntime;
  ready: Promise<unknown>;
}
