-- Push to deploy: what git hosts tell us, what we find by looking, previews of pull requests, and what hosts are told.

-- How an integration's host speaks to us, and the secrets that its webhooks are signed with.
create table integration_webhooks (
  integration_id uuid primary key references integrations on delete cascade,
  provider text not null check (provider in ('github', 'gitlab', 'gitea', 'bitbucket')),
  -- Two while a secret is being changed; none when only the provider has to be known.
  secrets_sealed text[] not null default '{}' check (cardinality(secrets_sealed) <= 2),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Deliveries that were answered: the same one again has no effect. The reply is null only inside its transaction.
create table git_deliveries (
  provider text not null,
  -- Whose secret it was signed with: hosts send one id to all webhooks of a repository.
  authority text not null,
  delivery_id text not null,
  status integer,
  reply json,
  received_at timestamptz not null default now(),
  primary key (provider, authority, delivery_id)
);
create index git_delivery_by_age on git_deliveries (received_at);

-- The branch of a deployment that builds on push: its newest commit that we know of, and when to look next.
create table watched_branches (
  deployment_id uuid primary key references deployments on delete cascade,
  ref text not null,
  -- Null until it was seen once.
  sha text,
  webhook_at timestamptz,
  look_at timestamptz not null default now(),
  -- Looks in a row that failed.
  failures integer not null default 0
);

-- What the commit's host is to be told of a revision: an outbox in which only the newest state counts.
create table commit_statuses (
  revision_id uuid primary key references revisions on delete cascade,
  wanted text not null check (wanted in ('pending', 'success', 'failure', 'cancelled')),
  sent text,
  attempts integer not null default 0,
  -- When it is to be sent; null when there is nothing to send.
  due_at timestamptz,
  last_error text
);
create index commit_status_due on commit_statuses (due_at) where due_at is not null;

-- A trigger, so that whoever changes a revision cannot forget it.
create function want_commit_status() returns trigger language plpgsql as $$
declare
  state text := case
    when new.status = 'DEPLOYED' and new.error_code is null then 'success'
    when new.status in ('SKIPPED', 'INTERRUPTED') then 'cancelled'
    when new.status = 'DEPLOYED' or new.status like '%\_FAILED' then 'failure'
    else 'pending' end;
begin
  if new.source <> 'github' or new.source_config ->> 'integration_id' is null
    or coalesce(new.commit_sha, new.source_revision_config ->> 'repo_commit_sha') is null then
    return null;
  end if;
  insert into commit_statuses (revision_id, wanted, due_at) values (new.revision_id, state, now())
  on conflict (revision_id) do update set wanted = excluded.wanted, due_at = now(), attempts = 0
    where commit_statuses.wanted <> excluded.wanted;
  perform pg_notify('superstep_commit_status', '');
  return null;
end $$;
create trigger revision_wants_commit_status
  after insert or update of status, commit_sha, error_code on revisions
  for each row execute function want_commit_status();

-- A deployment of a pull request, made and removed by the platform.
alter table deployments add column is_preview boolean not null default false;

-- Pull requests of a deployment's repository get deployments of their own.
create table preview_settings (
  deployment_id uuid primary key references deployments on delete cascade,
  is_enabled boolean not null,
  -- At a time, for all pull requests of the repository.
  max_previews integer not null check (max_previews between 1 and 100),
  ttl_days integer not null check (ttl_days between 1 and 365),
  -- Put on a fork's pull request by somebody who may, it approves the commit it is put on.
  approve_label text not null,
  updated_at timestamptz not null default now()
);

-- All that a preview knows; the secrets of the deployment itself stay with it.
create table preview_secrets (
  deployment_id uuid not null references preview_settings on delete cascade,
  name text not null,
  value_sealed text not null,
  primary key (deployment_id, name)
);

create table previews (
  preview_id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  -- Null when the deployment it previews a change of is gone: then it goes too.
  parent_id uuid references deployments on delete set null,
  -- Counts against the limit, whatever the number of deployments from one repository.
  repository text not null,
  number integer not null,
  title text not null,
  is_fork boolean not null,
  -- What the pull request is at; the commit is null where the host shortens it.
  head_ref text,
  head_sha text,
  -- The commit of a fork that somebody approved; a later one has to be approved again.
  approved_sha text,
  -- awaiting_approval: a fork; waiting: the limit is reached; active: has a deployment; failed: says why; the others
  -- have none any more.
  state text not null check (state in ('awaiting_approval', 'waiting', 'active', 'failed', 'closed', 'expired')),
  reason text,
  deployment_id uuid references deployments on delete set null,
  pushed_at timestamptz not null default now(),
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (parent_id, number)
);
create index preview_by_end on previews (expires_at) where state in ('awaiting_approval', 'waiting', 'active', 'failed');
