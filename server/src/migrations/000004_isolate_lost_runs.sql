-- A run that was in a worker when it died executes alone from then on, in a process of its own, so that it costs nobody
-- else an attempt. Only a run that was alone is to blame for its worker's death (runs/README, R5 and R9).

alter table runs
  add column runs_alone boolean not null default false,
  -- Attempts that ended with their server. That tells little of the run, unless it keeps happening.
  add column servers_lost integer not null default 0;
create index runs_waiting_alone on runs (seq) where status = 'pending' and runs_alone;

-- Ends an attempt whose run goes on: the run waits again. One that was asked to stop is over instead, and so is one that
-- has been lost too often. `_watcher`: a server with clients of the run.
-- ending: handed_back         nothing happened to it (a shutdown, no worker)
--         worker_died         its worker died with this run alone in it: a loss
--         shared_worker_died  its worker died with others in it, so nobody can tell which one it was: no loss
--         lease_ended         its server is gone, if the lease is over at this moment (its holder may have renewed it)
--         server_restarted    its server is gone, as its next life says
-- A server that is gone is a loss of a run that executed alone, since a graph that ends its server each time must end
-- some day. Of any other run it is none until it has happened too often; from then on the run executes alone.
-- outcome: waiting | finished | rolled_back | claim_lost; status is that of a run which is over
create function release_run(
  _run_id uuid, _claim_id uuid, _ending text, _watcher uuid, _most_losses integer, _error json
) returns table (outcome text, status text) language plpgsql as $$
#variable_conflict use_column
declare
  _run runs;
  _runs_alone boolean;
  _is_server_gone boolean := _ending in ('lease_ended', 'server_restarted');
  _losses integer;
  _servers_lost integer;
begin
  perform from threads t where t.thread_id = (select r.thread_id from runs r where r.run_id = _run_id) for update;
  select * into _run from runs r where r.run_id = _run_id and r.claim_id = _claim_id for update;
  if not found or (_ending = 'lease_ended' and _run.lease_until >= now()) then
    return query select 'claim_lost', null::text;
    return;
  end if;
  _losses := _run.losses + case when _ending = 'worker_died' or (_is_server_gone and _run.runs_alone) then 1 else 0 end;
  _servers_lost := _run.servers_lost + case when _is_server_gone then 1 else 0 end;
  if _run.cancel_action is not null then
    return query select f.outcome, 'interrupted' from
      finish_run(_run_id, _claim_id, 'interrupted', null, null, null, 'idle') f;
    return;
  end if;
  if _losses >= _most_losses then
    return query select f.outcome, 'error' from finish_run(_run_id, _claim_id, 'error', _error, null, null, 'error') f;
    return;
  end if;
  _runs_alone := _run.runs_alone or _ending in ('worker_died', 'shared_worker_died') or _servers_lost >= _most_losses;
  update runs r set status = 'pending', losses = _losses, servers_lost = _servers_lost, runs_alone = _runs_alone,
    claim_id = null, claimed_by = null, lease_until = null, updated_at = now(),
    watched_by = case when _watcher is null or _watcher = any (r.watched_by) then r.watched_by else r.watched_by || _watcher end
    where r.run_id = _run_id;
  perform pg_notify('runs_pending', case when _runs_alone then 'alone' else '' end);
  return query select 'waiting', null::text;
end
$$;

-- For servers of the release before, which count every death as a loss.
create or replace function release_run(
  _run_id uuid, _claim_id uuid, _is_loss boolean, _watcher uuid, _most_losses integer, _error json, _if_expired boolean
) returns table (outcome text, status text) language sql as $$
  select * from release_run(_run_id, _claim_id,
    case when _if_expired then 'lease_ended' when _is_loss then 'worker_died' else 'handed_back' end,
    _watcher, _most_losses, _error)
$$;
