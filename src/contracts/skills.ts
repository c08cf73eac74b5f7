import { z } from 'zod';
import { JsonRecord, Name, Tags, toPatchSchema } from './common.ts';
import { crud } from './endpoint.ts';

export const SkillCreate = z
  .object({
    name: Name.meta({ example: 'cite-sources' }),
    description: z.string().default(''),
    instructions: z
      .string()
      .min(1)
      .meta({ description: 'Added to the instructions of a run', example: 'Cite a source for every fact.' }),
    tags: Tags,
  })
  .meta({ id: 'SkillCreate' });

export const SkillUpdate = toPatchSchema(SkillCreate).meta({ id: 'SkillUpdate' });

export const Skill = z.object({ ...JsonRecord, ...SkillCreate.shape }).meta({ id: 'Skill' });
export type Skill = z.output<typeof Skill>;

export const skills = crud(
  { path: '/api/skills', noun: 'skill', tag: 'Skills', shared: true },
  { record: Skill, create: SkillCreate, update: SkillUpdate },
);
