import type { Evaluation } from '../../contracts/evaluations.ts';

export const evaluationTitle = ({ workflow_title }: Pick<Evaluation, 'workflow_title'>) => workflow_title ?? 'untitled';

export const evaluationUrl = ({ dataset_id, id }: Pick<Evaluation, 'dataset_id' | 'id'>) => `/datasets/${dataset_id}/runs/${id}`;
