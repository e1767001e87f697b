-- Traces of runs (server/src/tracing).

-- The trace of a run goes with it, whichever statement deletes the run.
create or replace function delete_spans_of_runs() returns trigger language plpgsql as $$
begin
  delete from run_spans s using deleted d where s.run_id = d.run_id;
  return null;
end
$$;
