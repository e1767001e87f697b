-- What users of the control plane see: workspaces and their keys, integrations, deployments, revisions, secrets, logs.

create table workspaces (
  workspace_id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

-- A key is 256 random bits, so a plain hash is enough; without a workspace it belongs to the whole installation.
create table api_keys (
  api_key_id uuid primary key,
  workspace_id uuid references workspaces on delete cascade,
  name text not null,
  prefix text not null,
  sha256 text not null unique,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);

create table integrations (
  integration_id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  kind text not null check (kind in ('git')),
  name text not null,
  -- The only host that ever sees the token, with its port when the address had one.
  host text not null,
  username text,
  token_sealed text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (workspace_id, name),
  -- For the foreign key of deployments, which keeps them inside their workspace.
  unique (workspace_id, integration_id)
);

create table deployments (
  deployment_id uuid primary key,
  workspace_id uuid not null references workspaces,
  name text not null,
  -- The name in the public URL: `name`, with a short suffix when another workspace has it.
  route_name text not null,
  display_name text,
  source text not null check (source in ('github', 'external_docker', 'internal_docker', 'internal_source', 'internal_template')),
  -- Repeats `source_config.integration_id`, so that an integration in use cannot go away.
  integration_id uuid,
  -- What the next revision starts from: all as requested last, unknown keys of `resource_spec` included.
  source_config jsonb not null,
  source_revision_config jsonb not null,
  -- The secrets of the next revision; 0 when there never were any.
  secrets_version integer not null default 0,
  status text not null check (status in ('AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'AWAITING_FINAL_DELETE', 'UNKNOWN')),
  latest_revision_id uuid,
  active_revision_id uuid,
  -- Rises with each change that a caller makes; its ETag.
  version integer not null default 1,
  -- The deployment's own database and role, once they exist; the password is sealed.
  database_name text,
  database_password_sealed text,
  -- Numbers the unprivileged user that its builds and units run under.
  uid_offset integer generated always as identity unique,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  delete_requested_at timestamptz,
  foreign key (workspace_id, integration_id) references integrations (workspace_id, integration_id)
);
-- A deleted deployment's name is free as soon as the 204 is sent.
create unique index deployment_one_name_in_a_workspace on deployments (workspace_id, name) where delete_requested_at is null;
create unique index deployment_one_route on deployments (route_name) where delete_requested_at is null;

-- Every change of the secrets is a new version, which revisions pin.
create table secrets (
  deployment_id uuid not null references deployments on delete cascade,
  secrets_version integer not null,
  name text not null,
  value_sealed text not null,
  primary key (deployment_id, secrets_version, name)
);

create table revisions (
  revision_id uuid primary key,
  deployment_id uuid not null references deployments on delete cascade,
  -- 1, 2 … within its deployment.
  seq integer not null,
  status text not null check (status in ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING',
    'CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'DEPLOYED', 'SKIPPED', 'INTERRUPTED', 'UNKNOWN')),
  -- What the pipeline does next; null when there is nothing left to do.
  stage text check (stage in ('queue', 'fetch', 'build', 'deploy', 'switch', 'verify', 'drain')),
  trigger text not null check (trigger in ('create', 'patch', 'api', 'push', 'redeploy', 'rollback', 'preview')),
  -- The complete frozen specification: nothing is looked up later (architecture D10).
  source text not null,
  source_config jsonb not null,
  source_revision_config jsonb not null,
  secrets_version integer not null,
  -- What the stages found out.
  commit_sha text,
  commit jsonb,
  artifact_id text,
  error_code text,
  status_message text,
  stage_started_at jsonb not null default '{}',
  -- The claim of the process that works on it; every write of the pipeline names the fence.
  lease_owner text,
  lease_until timestamptz,
  fence bigint not null default 0,
  stage_attempt integer not null default 0,
  not_before timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  unique (deployment_id, seq)
);
create index revision_with_work on revisions (not_before) where stage is not null;

alter table deployments
  add foreign key (latest_revision_id) references revisions deferrable initially deferred,
  add foreign key (active_revision_id) references revisions deferrable initially deferred;

create table log_lines (
  log_line_id bigint generated always as identity primary key,
  revision_id uuid not null references revisions on delete cascade,
  stream text not null check (stream in ('build', 'deploy')),
  at timestamptz not null default now(),
  level text not null check (level in ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')),
  message text not null
);
create index log_line_of_a_revision on log_lines (revision_id, stream, log_line_id);

-- The reply is null only inside the transaction that is about to give it.
create table idempotency_keys (
  workspace_id uuid not null references workspaces on delete cascade,
  key text not null,
  request_sha256 text not null,
  status integer,
  reply json,
  created_at timestamptz not null default now(),
  primary key (workspace_id, key)
);
create index idempotency_key_by_age on idempotency_keys (created_at);
