-- What the complete API keeps: whether a deployment should run, where a revision came from and who asked for it,
-- agents' environments, and listeners.

alter table deployments
  -- What its owner wants of the machines; `runtimes` brings them there. Revisions go on being made while it is paused.
  add column desired_run_state text not null default 'running' check (desired_run_state in ('running', 'paused')),
  -- Rises with each restart that is asked for: a unit that was started for a smaller number is replaced.
  add column restart_generation integer not null default 0,
  -- Ties it to the record of an agent, which other tools keep; both or neither.
  add column agent_id text,
  add column agent_environment text check (agent_environment in ('development', 'staging', 'production')),
  add check ((agent_id is null) = (agent_environment is null));

create unique index deployment_one_of_an_agent_environment on deployments (workspace_id, agent_id, agent_environment)
  where delete_requested_at is null and agent_id is not null;

alter table revisions
  -- Who asked for it, such as `api_key:<id>`; null when the platform did.
  add column actor text,
  -- The revision that a redeploy or rollback repeats; never one that is itself a repetition.
  add column repeats_revision_id uuid references revisions on delete set null;

create table listeners (
  listener_id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  compute_type text not null check (compute_type in ('k8s')),
  compute_id text not null,
  compute_config jsonb not null,
  version text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (workspace_id, compute_id)
);
