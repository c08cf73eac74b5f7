-- A halt that was asked for while no worker was there to hear of it: the next attempt begins nothing.
ALTER TABLE "tasks" ADD COLUMN "halt_requested" BOOLEAN NOT NULL DEFAULT false;
