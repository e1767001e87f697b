-- Runs that ended long ago are deleted, oldest first (SUPERSTEP_KEEP_RUNS_DAYS).
create index runs_ended on runs (updated_at, run_id) where status not in ('pending', 'running');
