/**
 * How far an installation has come. The record, the engine and the home each keep the mark that they were last given; the record
 * advances first. So one that is behind the record missed a moment, and a record that is behind any of them was restored.
 */
export interface Mark {
  installation: string;
  /** One more after each restore. */
  epoch: number;
  /** Advances while the installation runs. */
  beat: number;
}

export const isBehind = (record: Mark, other: Mark): boolean =>
  record.installation === other.installation &&
  (record.epoch < other.epoch || (record.epoch === other.epoch && record.beat < other.beat));

export const textOfMark = ({ installation, epoch, beat }: Mark): string => JSON.stringify({ installation, epoch, beat });

/** Null for any other text. */
export function parsedMark(text: string | undefined): Mark | null {
  try {
    const { installation, epoch, beat } = JSON.parse(text ?? '') as Partial<Mark>;
    if (typeof installation !== 'string' || !Number.isInteger(epoch) || !Number.isInteger(beat)) return null;
    return { installation, epoch: epoch as number, beat: beat as number };
  } catch {
    return null;
  }
}
