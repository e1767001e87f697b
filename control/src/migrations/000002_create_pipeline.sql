-- What carries a revision: its claims' bookkeeping, artefacts, units, and the edge's table.

alter table revisions
  -- Control planes that died while they worked on the current stage; three end the revision (crash_loop_guard).
  add column stage_deaths integer not null default 0,
  add column tree_hash text,
  -- How much of the build's log file is in `log_lines`, in bytes.
  add column build_log_offset bigint not null default 0;

-- One pipeline a deployment. Draining goes on beside the next revision, which must not wait for it.
create unique index revision_one_claim_of_a_deployment on revisions (deployment_id)
  where lease_owner is not null and stage <> 'drain';

create table artifacts (
  -- Hash of everything that went in.
  artifact_id text primary key,
  deployment_id uuid not null references deployments on delete cascade,
  -- Node's version, system and architecture.
  platform text not null,
  graphs jsonb not null,
  langgraph_version text,
  created_at timestamptz not null default now()
);
create index artifact_of_a_deployment on artifacts (deployment_id);

create table units (
  unit_id uuid primary key,
  deployment_id uuid not null references deployments on delete cascade,
  revision_id uuid not null references revisions on delete cascade,
  -- starting: the pipeline's; serving: in the edge's table; draining: left the table, finishes what it has;
  -- stopping: to be ended and forgotten.
  state text not null check (state in ('starting', 'serving', 'draining', 'stopping')),
  token_sealed text not null,
  -- Ends of its process that nobody asked for, and when it may be started again.
  crashes integer not null default 0,
  -- The last of them was counted, and the unit was not started since.
  is_down boolean not null default false,
  start_after timestamptz not null default now(),
  state_since timestamptz not null default now(),
  -- How much of its output is in `log_lines`, in bytes.
  log_offset bigint not null default 0,
  created_at timestamptz not null default now()
);
create unique index unit_one_of_a_revision on units (revision_id);
create unique index unit_one_serves_a_deployment on units (deployment_id) where state = 'serving';

-- The generation only grows, whatever becomes of the edge; the hash tells whether the content is new.
create table edge_tables (
  is_current boolean primary key default true check (is_current),
  generation bigint not null default 0,
  content_sha256 text not null default ''
);
insert into edge_tables default values;
