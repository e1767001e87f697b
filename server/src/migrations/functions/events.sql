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
