-- A run that was in a worker when it died executes alone from then on, in a process of its own, so that it costs nobody
-- else an attempt. Only a run that was alone is to blame for its worker's death (runs/README, R5 and R9).

alter table runs
  add column runs_alone boolean not null default false,
  -- Attempts that ended with their server. That tells little of the run, unless it keeps happening.
  add column servers_lost integer not null default 0;
create index runs_waiting_alone on runs (seq) where status = 'pending' and runs_alone;
