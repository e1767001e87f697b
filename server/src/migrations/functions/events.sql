-- The log of events (server/src/events/README.md, G8).

-- Lets the caller's transaction append to the logs of these threads, one transaction at a time. The caller has locked the rows that
-- it needs before, and the locks are taken in one order, so that transactions do not deadlock.
create or replace function lock_thread_logs(_thread_ids uuid[]) returns void language plpgsql as $$
declare
  _key integer;
begin
  for _key in
    select distinct hashtext(thread_id::text) as key from unnest(_thread_ids) as given (thread_id)
    where thread_id is not null order by key
  loop
    perform pg_advisory_xact_lock(hashtext('superstep: log of a thread'), _key);
  end loop;
end
$$;

-- Like `lock_thread_logs`. Returns the place of the last event in each log by its thread, -1 for none: it is read when the locks are held, so
-- what the transaction appends comes next.
create or replace function lock_thread_logs_at_end(_thread_ids uuid[]) returns jsonb language plpgsql as $$
begin
  perform lock_thread_logs(_thread_ids);
  return (
    select jsonb_object_agg(given.thread_id, coalesce(
      (select e.position from run_events e where e.thread_id = given.thread_id order by e.position desc limit 1), -1))
    from (select distinct thread_id from unnest(_thread_ids) as given (thread_id) where thread_id is not null) given);
end
$$;
