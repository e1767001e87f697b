-- Crons: runs that are created by the clock. `next_run_date` is the whole plan: a firing moves it on in the transaction
-- that creates the run, so several servers fire each due time once, and a kill comes before both or after both.

create table crons (
  cron_id uuid primary key,
  -- No foreign keys: deleting threads is on the way of every stateless run, which should not pay for a look into this
  -- table. A cron that has lost its assistant or thread finds that out when it is due, and says so.
  assistant_id uuid not null,
  -- Null: each run gets a thread of its own.
  thread_id uuid,
  schedule text not null,
  timezone text,
  end_time timestamptz,
  enabled boolean not null,
  -- Why the server, and no person, disabled it.
  disabled_reason text,
  on_run_completed text check (on_run_completed in ('delete', 'keep')),
  -- The body of the runs that it creates.
  payload json not null,
  metadata json not null,
  searchable_metadata jsonb not null generated always as (searchable_metadata(metadata, null, null)) stored,
  user_id text,
  -- Who created it, as the access rules told: its runs are told so too.
  created_by json,
  next_run_date timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (enabled or next_run_date is null),
  check (thread_id is null or on_run_completed is null)
);
create index crons_due on crons (next_run_date) where next_run_date is not null;
create index crons_of_an_assistant on crons (assistant_id);
create index crons_of_a_thread on crons (thread_id) where thread_id is not null;
create index crons_by_metadata on crons using gin (searchable_metadata jsonb_path_ops);
