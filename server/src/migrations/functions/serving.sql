-- Which revision executes runs (server/src/serving/README.md).

-- The score of a revision for a thread (weighted rendezvous hashing): a larger share makes low scores more likely. One expression, so that
-- Postgres inlines it into the calling statement.
create or replace function rendezvous_score(_revision_id text, _share numeric, _thread_id uuid) returns float8 language sql immutable as $$
  select -ln(((hashtextextended(_revision_id || ' ' || _thread_id::text, 0) & 4294967295) + 0.5::float8) / 4294967296) / _share::float8
$$;

-- The revisions that serve, each with the percentage of the threads that it gets.
create or replace function serving_shares() returns table (revision_id text, share numeric) language sql stable as $$
  select revision_id, coalesce(weight, 100 - coalesce(sum(weight) over (), 0))::numeric from serving_revisions
$$;

-- The revision that executes runs of a thread that is not pinned; null when none was activated. The revision with the lowest score
-- gets the thread. So a thread keeps its revision as long as the shares do not change, and a change of shares moves as few threads as
-- possible. A claim computes the same for many threads (server/src/runs/claims.ts): a call for each would cost it 40 us.
create or replace function revision_of_thread(_thread_id uuid) returns text language sql stable as $$
  select revision_id from serving_shares() order by rendezvous_score(revision_id, share, _thread_id) limit 1
$$;

-- Whether more than one revision serves.
create or replace function is_traffic_split() returns boolean language sql stable as $$
  select count(*) > 1 from serving_revisions
$$;

-- Whether servers of a revision may claim runs of threads that are not pinned. A server without a revision always may.
create or replace function may_claim(_revision_id text) returns boolean language sql stable as $$
  select _revision_id is null or exists (select from serving_revisions where revision_id = _revision_id)
$$;

-- Whether a revision does the work of the whole deployment: crons and webhooks. A server without a revision always does.
create or replace function is_active(_revision_id text) returns boolean language sql stable as $$
  select _revision_id is null or exists (select from serving_revisions where revision_id = _revision_id and weight is null)
$$;

-- Pins the threads that are busy or interrupted to the revision that serves them now, with their runs, until they are idle; but not
-- those that `_next` already serves (null: all are pinned). Threads first, then runs, each in order, as everywhere (runs.sql).
create or replace function pin_paused_threads(_next text, _candidates uuid[]) returns void language plpgsql as $$
declare
  _threads uuid[];
begin
  _threads := array(
    select thread_id from threads
    where thread_id = any (_candidates) and status in ('busy', 'interrupted') and not is_ephemeral and revision_id is null
      and exists (select from serving_revisions) and revision_of_thread(thread_id) is distinct from _next
    order by thread_id for update);
  update threads set revision_id = revision_of_thread(thread_id), is_pinned_until_rest = true where thread_id = any (_threads);
  perform from runs where thread_id = any (_threads) and status in ('pending', 'running') order by run_id for update;
  update runs r set revision_id = t.revision_id from threads t
    where t.thread_id = r.thread_id and r.thread_id = any (_threads) and r.status in ('pending', 'running');
end
$$;

-- Deletes the pins of threads and of their pending runs to a revision; running runs finish where they are. Returns the number of threads.
create or replace function unpin_threads(_revision_id text, _most integer) returns integer language plpgsql as $$
declare
  _threads uuid[];
begin
  _threads := array(
    select thread_id from threads where revision_id = _revision_id order by thread_id limit _most for update);
  update threads set revision_id = null, is_pinned_until_rest = false where thread_id = any (_threads);
  perform from runs where thread_id = any (_threads) and status = 'pending' order by run_id for update;
  update runs set revision_id = null where thread_id = any (_threads) and status = 'pending';
  return cardinality(_threads);
end
$$;
