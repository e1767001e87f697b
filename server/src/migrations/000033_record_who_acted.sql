-- Which person started a run, answered what one asked, or changed a thread's state (docs/decisions/0094-people-have-accounts.md): for the thread and
-- the API, and for the control plane, which takes what must be in its audit log. Without keys into other tables, so that the second does
-- not go with a thread.
create table person_acts (
  act_id uuid primary key,
  acted_at timestamptz not null default clock_timestamp(),
  kind text not null check (kind in ('run', 'answer', 'edit')),
  person json not null,
  thread_id uuid not null,
  -- The run that was started, or the checkpoint that was made.
  run_id uuid,
  checkpoint_id text,
  -- Of an edit: the names of the state's values that it gave, where it named them.
  changed text[],
  check (num_nonnulls(run_id, checkpoint_id) = 1)
);
create index person_act_of_a_thread on person_acts (thread_id, acted_at);
create unique index person_act_of_a_run on person_acts (run_id) where run_id is not null;

create function remove_acts_of_thread() returns trigger language plpgsql as $$
begin
  delete from person_acts where thread_id = old.thread_id;
  return null;
end $$;
create trigger thread_takes_its_acts after delete on threads for each row when (not old.is_ephemeral)
  execute function remove_acts_of_thread();

-- Answers and edits that the control plane has not confirmed yet.
create table unaudited_acts (
  act_id uuid primary key,
  act json not null
);
