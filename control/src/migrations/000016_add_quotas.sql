-- Whoever may deploy can fill the machine. The operator says how much each workspace may have; a column without a value
-- means the installation's default, which is a setting.

create table workspace_quotas (
  workspace_id uuid primary key references workspaces on delete cascade,
  deployments integer check (deployments >= 0),
  units integer check (units >= 0),
  memory_mb bigint check (memory_mb >= 0),
  cpu real check (cpu >= 0),
  updated_at timestamptz not null default now()
);
