-- A deployment of a listener is carried out by another installation, which mirrors it and reports (docs/decisions/0052).

alter table deployments
  -- Repeats `source_config.listener_id`, so that a listener in use cannot go away.
  add column listener_id uuid references listeners;
create index deployment_of_listener on deployments (listener_id) where listener_id is not null;

-- In the central installation: what the listener of a deployment reported last.
create table listener_reports (
  deployment_id uuid primary key references deployments on delete cascade,
  -- The installation that reported; the numbers below are only valid for it.
  home_id text not null,
  -- Rises with each report that was accepted. A report names the number that it follows, so none counts twice or late.
  reports bigint not null default 0,
  -- The last log line of that installation that is stored here.
  log_line_id bigint not null default 0,
  url text,
  health text,
  run_state text,
  is_restarting boolean not null default false,
  -- Why it cannot mirror the deployment.
  problem text,
  -- It has removed everything of a deployment that is being deleted.
  is_gone boolean not null default false
);

-- In the listener's installation: the deployments that it mirrors. A row outlives its deployment, until the central
-- installation knows that it is gone.
create table mirrored_deployments (
  deployment_id uuid primary key,
  -- The central state that was carried out last; empty when that failed.
  version text not null,
  -- The control plane wants it to be removed.
  is_deleted boolean not null default false,
  problem text
);

-- The host of the repository is told by the control plane, not by a listener as well.
create or replace function want_commit_status() returns trigger language plpgsql as $$
declare
  state text := case
    when new.status = 'DEPLOYED' and new.error_code is null then 'success'
    when new.status in ('SKIPPED', 'INTERRUPTED') then 'cancelled'
    when new.status = 'DEPLOYED' or new.status like '%\_FAILED' then 'failure'
    else 'pending' end;
begin
  if new.source <> 'github' or new.source_config ->> 'integration_id' is null
    or coalesce(new.commit_sha, new.source_revision_config ->> 'repo_commit_sha') is null
    or exists (select from mirrored_deployments m where m.deployment_id = new.deployment_id) then
    return null;
  end if;
  insert into commit_statuses (revision_id, wanted, due_at) values (new.revision_id, state, now())
  on conflict (revision_id) do update set wanted = excluded.wanted, due_at = now(), attempts = 0
    where commit_statuses.wanted <> excluded.wanted;
  perform pg_notify('superstep_commit_status', '');
  return null;
end $$;
