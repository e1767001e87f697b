-- The traces of runs: what each graph, node, model call and tool did, and when (server/src/tracing/README.md, decision 93).
create table run_spans (
  -- No foreign key: its lock on the run would make runs and traces wait for each other. A sweep deletes the spans of runs that are gone.
  run_id uuid not null,
  -- As in `run_events`: the attempt, then the order in which spans began.
  seq bigint not null,
  -- JSON text that nothing in SQL reads, so text: a value with U+0000 must not fail its neighbors.
  span text not null,
  content text not null,
  created_at timestamptz not null default now(),
  primary key (run_id, seq)
);
create index run_spans_by_age on run_spans (created_at);
