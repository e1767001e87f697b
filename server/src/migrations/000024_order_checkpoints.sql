-- The newest checkpoint of a thread was the one with the highest id, and ids come from the clock of the worker. With two servers whose
-- clocks differ by two seconds, or a clock that was set back, a turn got lower ids than the one before it, and the next turn did not
-- see it (docs/decisions/0059-checkpoints-have-an-order-of-ours.md).

-- The order in which checkpoints were saved. Servers of the previous release do not name the column, and the default fills it for them
-- too. Rows from before are 0 without being rewritten: among them the id decides, and every new row comes after them.
create sequence checkpoints_seq;
alter table checkpoints add column seq bigint not null default 0;
alter table checkpoints alter column seq set default nextval('checkpoints_seq');
alter sequence checkpoints_seq owned by checkpoints.seq;

-- For the newest checkpoint, and for a history from a checkpoint on. Partial, so that a planner that takes a thread for small does not
-- use it for one checkpoint (`checkpoint_at`) and reads the whole thread.
create index checkpoints_by_seq on checkpoints (thread_id, checkpoint_ns, seq, checkpoint_id) where not is_replay_only;
-- For the checkpoints of one run: a rollback, and a look at the state that a run left, read all of a long thread. The run comes first
-- for the same reason.
create index checkpoints_by_run on checkpoints ((metadata ->> 'run_id'), thread_id);
