-- Serves versions from: 20261122195900_installation_facts
-- What graders that take long have done for an item: the run of a judge, or the verdict of a tool. A repeated attempt finds it here.
ALTER TABLE "evaluation_results" ADD COLUMN "grading" JSONB NOT NULL DEFAULT '{}';
