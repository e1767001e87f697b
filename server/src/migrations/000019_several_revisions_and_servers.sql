-- Several revisions of a deployment may execute runs at once, and servers know which others have room
-- (docs/decisions/0022).

-- The revisions that execute runs of threads that are not pinned. It takes the place of `serving`, which holds one revision.
create table serving_revisions (
  revision_id text primary key,
  -- The percentage of threads that it gets. Null: the active revision, which gets all the others.
  weight integer check (weight between 1 and 99),
  -- What happens to threads on which this revision executes a run: `always` pins them to it.
  thread_pinning text not null default 'none' check (thread_pinning in ('none', 'paused', 'always'))
);
create unique index serving_revisions_one_active on serving_revisions ((true)) where weight is null;
insert into serving_revisions (revision_id) select revision_id from serving where revision_id is not null;

alter table threads
  -- The revision to which the thread is pinned; null: it is not.
  add column revision_id text,
  -- The pin ends when the thread is neither busy nor interrupted any more.
  add column is_pinned_until_rest boolean not null default false,
  add check (revision_id is not null or not is_pinned_until_rest);

-- The revision that alone may execute the run, that of its pinned thread. Null: any that serves the thread.
alter table runs add column revision_id text;
-- What a claim reads: runs that are pinned to other revisions may wait for long, and are not passed each time.
create index runs_waiting_unpinned on runs (not_before, seq) where status = 'pending' and revision_id is null;
create index runs_waiting_pinned on runs (revision_id, not_before, seq) where status = 'pending' and revision_id is not null;

-- Who can be woken for a run that its own server cannot take. Each server writes its row once in a while, never for a run.
create table servers (
  server_id uuid primary key,
  revision_id text,
  -- Room for runs, and for runs that get a worker of their own.
  free_slots integer not null,
  free_solo_slots integer not null,
  seen_at timestamptz not null default now()
);

-- A due cron that a server fires is left alone by the others until then (server/src/crons/README.md, CR1).
alter table crons add column taken_until timestamptz;
-- A notification must not be part of a transaction that writes data (docs/decisions/0022): servers send it after the commit.
drop trigger if exists crons_tell_changed on crons;
