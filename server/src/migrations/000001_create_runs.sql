-- Threads and their runs. The table `runs` is the queue (architecture D2): state and queue share one transaction.
-- What users own (metadata, values, input …) is `json`, which takes every text that JSON allows; `jsonb` refuses \u0000
-- (D9b). Values and interrupts are the worker's bytes; what comes in a request is parsed and written once.

create table assistants (
  assistant_id uuid primary key,
  graph_id text not null,
  name text not null,
  description text,
  config json not null default '{}',
  context json not null default '{}',
  metadata json not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table threads (
  thread_id uuid primary key,
  status text not null default 'idle' check (status in ('idle', 'busy', 'interrupted', 'error')),
  -- What ran here last; shown as part of the metadata, and kept apart so that the user's text stays as it is.
  graph_id text,
  assistant_id uuid,
  metadata json not null default '{}',
  config json not null default '{}',
  values json,
  interrupts json not null default '{}',
  error json,
  -- Made for one stateless run and deleted with it.
  is_ephemeral boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  state_updated_at timestamptz not null default now()
);

create table runs (
  run_id uuid primary key,
  -- The order in which runs were asked for: time alone can tie.
  seq bigint generated always as identity,
  thread_id uuid not null references threads on delete cascade,
  assistant_id uuid not null,
  graph_id text not null,
  status text not null check (status in ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  metadata json not null,
  -- What was asked for, as the Run resource shows it: input, command, config, context, stream_mode …
  kwargs json not null,
  multitask_strategy text not null check (multitask_strategy in ('reject', 'enqueue', 'interrupt', 'rollback')),
  is_resumable boolean not null default false,
  delete_thread_on_completion boolean not null default false,
  error json,
  -- Servers with clients of this run: whoever executes it writes the event log when one of these is not itself.
  watched_by uuid[] not null default '{}',
  cancel_action text check (cancel_action in ('interrupt', 'rollback')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  not_before timestamptz not null default now(),
  -- The claim: which server holds the run, for how long, and the id that fences every write of its worker.
  attempt integer not null default 0,
  -- Attempts that ended with their worker or their lease. One that was handed back at a shutdown is none of them.
  losses integer not null default 0,
  claim_id uuid,
  claimed_by uuid,
  lease_until timestamptz,
  check ((status = 'running') = (claim_id is not null))
);
create unique index runs_one_running_per_thread on runs (thread_id) where status = 'running';
create index runs_of_a_thread on runs (thread_id, seq);
create index runs_waiting on runs (seq) where status = 'pending';
create index runs_leased on runs (lease_until) where status = 'running';

-- The log of a stream: of a resumable run from its first event, of any other only from the moment that a client of
-- another server joins it. Several servers share a database during every redeploy.
create table run_events (
  run_id uuid not null,
  seq bigint not null,
  event text not null,
  data text not null,
  created_at timestamptz not null default now(),
  primary key (run_id, seq)
);
create index run_events_by_age on run_events (created_at);

-- The revision whose servers claim runs; no row, or null, lets every server claim (protocol/unit).
create table serving (
  is_only_row boolean primary key default true check (is_only_row),
  revision_id text
);
