-- One workspace must not stop the deploys of the others (decision 28): a claim needs to know how many builds the workspace may run at
-- once, and which workspace has waited longest.

-- Null means the installation's default, as for the other quotas. With none, revisions would wait forever.
alter table workspace_quotas add column builds integer check (builds >= 1);

-- When a revision of the workspace was last claimed for a stage. A row of its own: the revision may be deleted meanwhile.
create table workspace_turns (
  workspace_id uuid not null references workspaces on delete cascade,
  stage text not null,
  claimed_at timestamptz not null,
  primary key (workspace_id, stage)
);
