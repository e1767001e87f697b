-- For `has_saved_input` of a run without a checkpoint, which read all writes of its thread at the end of the run, with the thread locked.
-- Partial, so that a planner does not use it to find one write of a run by its key (`drop_unneeded_checkpoints`): it would read all writes
-- of the run for each of the thread's checkpoints. The run comes first for the same reason.
create index checkpoint_writes_by_run on checkpoint_writes (run_id, thread_id) where channel <> '__resume__';
