-- A revision may run in several units; a deployment that nobody uses sleeps; the server's connections are shared out.

alter table units
  -- 0, 1 … within its revision.
  add column ordinal integer not null default 0,
  -- Whether it may be sent requests once it serves: false from before it is stopped (its deployment sleeps or is paused,
  -- or it is restarted) until it is ready again. One that crashed keeps its true, since it is back in a moment.
  add column is_ready boolean not null default true,
  -- Why we ended its process last, when we did.
  add column last_end text check (last_end in ('oom_killed')),
  -- Of its deployment, when it was started last.
  add column restart_generation integer not null default 0,
  -- Database connections that it may use; those of a unit that is stopped are free for others.
  add column connections integer not null default 0,
  -- When it was last seen to be of use: its deployment sleeps when that is long ago.
  add column active_at timestamptz not null default now();

drop index unit_one_of_a_revision;
create unique index unit_one_of_an_ordinal on units (revision_id, ordinal);

-- Two revisions of a deployment never serve at the same time: each has a unit 0.
drop index unit_one_serves_a_deployment;
create unique index unit_one_revision_serves_a_deployment on units (deployment_id, ordinal) where state = 'serving';

-- Deployments whose units are stopped until a request or a cron needs them.
create table sleeps (
  deployment_id uuid primary key references deployments on delete cascade,
  since timestamptz not null default now(),
  -- When the first cron or delayed run is due, a little earlier; null when none is.
  wake_at timestamptz,
  -- It was woken, and no unit is ready yet.
  is_waking boolean not null default false,
  -- There was no room for it when it was woken: until then nobody need ask again.
  refused_until timestamptz
);
