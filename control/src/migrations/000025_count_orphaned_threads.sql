-- Before a switch the new revision looks at the paused threads of its deployment (control/src/pipeline/orphaned-threads.ts).

alter table revisions
  -- Those that it could not go on with; null: they were not looked at.
  add column orphaned_threads integer check (orphaned_threads >= 0);
