/** One thing that happens to the machine. Returns its outcome in words. */
export type Scene = () => Promise<string>;

/** What several scenes need. Its folders are looked at, too. */
export interface Stage {
  scenes: Record<string, Scene>;
  close(): Promise<unknown>;
}

/** Opens a stage in a separate folder. */
export type Open = (folder: string, options: never) => Promise<Stage>;

export interface SceneReport {
  outcome: string;
  /** What the machine has more than before, and what is changed. */
  left: string[];
}

export interface StageReport {
  scenes: Record<string, SceneReport>;
  /** What is left when the stage is closed. */
  left: string[];
}
