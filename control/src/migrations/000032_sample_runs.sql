-- How runs end and how long they take, by revision: a new one can be compared with the one before.

create table run_samples (
  deployment_id uuid not null references deployments on delete cascade,
  at timestamptz not null,
  revision_id uuid not null,
  -- Since the last sample, of all its units. No row: no run ended.
  ended bigint not null,
  failed bigint not null,
  -- From when a run could start to its end; counts by the classes of protocol/unit.
  latency_ms double precision not null,
  latency_counts bigint[] not null,
  primary key (deployment_id, at, revision_id)
);
create index run_sample_by_age on run_samples (at);
