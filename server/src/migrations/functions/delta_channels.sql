-- The data from which delta channels are rebuilt is kept when checkpoints are removed (server/src/checkpoints/README.md, C7).

-- The delta channels of a thread. LangGraph counts their updates in the metadata of every checkpoint that has no stored value
-- of them, in both languages; forks and copies keep it. A user's metadata of this name keeps more checkpoints, never fewer.
create or replace function delta_channels(_thread_id text)
returns table (checkpoint_ns text, channel text) language sql stable as $$
  select distinct c.checkpoint_ns, counted.channel
  from checkpoints c cross join lateral jsonb_object_keys(
    case jsonb_typeof(c.metadata -> 'counters_since_delta_snapshot')
      when 'object' then c.metadata -> 'counters_since_delta_snapshot' else '{}' end) as counted (channel)
  where c.thread_id = _thread_id
$$;

create or replace function stores_channel(_thread_id text, _checkpoint_ns text, _checkpoint jsonb, _channel text)
returns boolean language sql stable as $$
  select exists (
    select from checkpoint_blobs
    where thread_id = _thread_id and checkpoint_ns = _checkpoint_ns and channel = _channel
      and version = _checkpoint -> 'channel_versions' ->> _channel and type <> 'empty')
$$;

-- One checkpoint. `limit` keeps this a lookup by the whole key. As a join, the planner would read all of a thread for each of its
-- checkpoints when it estimates that the thread is small.
create or replace function checkpoint_at(_thread_id text, _checkpoint_ns text, _checkpoint_id text)
returns setof checkpoints language sql stable rows 1 as $$
  select * from checkpoints
  where thread_id = _thread_id and checkpoint_ns = _checkpoint_ns and checkpoint_id = _checkpoint_id
  limit 1
$$;

-- Removes the checkpoints of a thread that are marked `is_replay_only`, except for those that a visible checkpoint is rebuilt
-- from; of these it keeps only what that takes. With `_run_id` it removes this run's writes to other checkpoints in the same way.
-- On a thread with delta channels the parent of a kept checkpoint becomes its nearest kept ancestor.
create or replace function drop_unneeded_checkpoints(_thread_id text, _run_id uuid) returns void language plpgsql as $$
begin
  with recursive delta as materialized (select * from delta_channels(_thread_id)),
  -- Visible checkpoints whose parent loses something.
  children as materialized (
    select c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint from checkpoints c
    where exists (select from delta) and c.thread_id = _thread_id and not c.is_replay_only and (
      exists (select from checkpoints p where p.thread_id = _thread_id and p.checkpoint_ns = c.checkpoint_ns
        and p.checkpoint_id = c.parent_checkpoint_id and p.is_replay_only)
      or exists (select from checkpoint_writes w where w.thread_id = _thread_id and w.checkpoint_ns = c.checkpoint_ns
        and w.checkpoint_id = c.parent_checkpoint_id and w.run_id = _run_id))),
  -- The value of this channel at a visible checkpoint is rebuilt through this checkpoint: a value includes the writes of the
  -- parent, and rebuilding stops at a stored value.
  replayed as (
    select c.checkpoint_ns, c.parent_checkpoint_id as checkpoint_id, d.channel
    from children c join delta d on d.checkpoint_ns = c.checkpoint_ns
    where not stores_channel(_thread_id, c.checkpoint_ns, c.checkpoint, d.channel)
    union
    select c.checkpoint_ns, c.parent_checkpoint_id, r.channel
    from replayed r cross join lateral checkpoint_at(_thread_id, r.checkpoint_ns, r.checkpoint_id) as c
    where c.is_replay_only and c.parent_checkpoint_id is not null
      and not stores_channel(_thread_id, c.checkpoint_ns, c.checkpoint, r.channel)),
  -- Marked checkpoints with a value or a write of such a channel; those in between are only links.
  needed as materialized (
    select c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id,
      coalesce(jsonb_object_agg(r.channel, c.checkpoint -> 'channel_versions' -> r.channel)
        filter (where stores_channel(_thread_id, c.checkpoint_ns, c.checkpoint, r.channel)), '{}') as stored_versions
    from replayed r cross join lateral checkpoint_at(_thread_id, r.checkpoint_ns, r.checkpoint_id) as c
    where c.is_replay_only
      and (stores_channel(_thread_id, c.checkpoint_ns, c.checkpoint, r.channel) or exists (
        select from checkpoint_writes w
        where w.thread_id = _thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id
          and w.channel = r.channel))
    group by c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint),
  -- From each kept checkpoint up to its nearest kept ancestor. Without `_run_id` only the newest checkpoints are visible:
  -- if no data is needed they have no ancestor left, and the search up to the root is skipped.
  ancestry (checkpoint_ns, checkpoint_id, stored_versions, ancestor_id) as (
    (select checkpoint_ns, checkpoint_id, null::jsonb, parent_checkpoint_id from children
      union all
      select checkpoint_ns, checkpoint_id, stored_versions, parent_checkpoint_id from needed)
    union
    select a.checkpoint_ns, a.checkpoint_id, a.stored_versions, c.parent_checkpoint_id
    from ancestry a cross join lateral checkpoint_at(_thread_id, a.checkpoint_ns, a.ancestor_id) as c
    where c.is_replay_only and (c.checkpoint_ns, c.checkpoint_id) not in (select checkpoint_ns, checkpoint_id from needed)
      and (_run_id is not null or exists (select from needed))),
  staying as (
    select a.checkpoint_ns, a.checkpoint_id, a.stored_versions, max(c.checkpoint_id) as parent_checkpoint_id
    from ancestry a
      left join lateral checkpoint_at(_thread_id, a.checkpoint_ns, a.ancestor_id) as c on not c.is_replay_only
        or (c.checkpoint_ns, c.checkpoint_id) in (select checkpoint_ns, checkpoint_id from needed)
    group by a.checkpoint_ns, a.checkpoint_id, a.stored_versions),
  linked as (
    update checkpoints c set parent_checkpoint_id = s.parent_checkpoint_id,
      checkpoint = case when s.stored_versions is null then c.checkpoint
        else c.checkpoint || jsonb_build_object('channel_versions', s.stored_versions, 'versions_seen', '{}'::jsonb) end
    from staying s
    where c.thread_id = _thread_id and c.checkpoint_ns = s.checkpoint_ns and c.checkpoint_id = s.checkpoint_id
      and (c.parent_checkpoint_id is distinct from s.parent_checkpoint_id
        or c.checkpoint -> 'channel_versions' <> s.stored_versions)),
  dropped_writes as (
    delete from checkpoint_writes w
    where w.thread_id = _thread_id
      and (select c.is_replay_only from checkpoint_at(_thread_id, w.checkpoint_ns, w.checkpoint_id) as c)
      and (w.checkpoint_ns, w.checkpoint_id, w.channel) not in (
        select checkpoint_ns, checkpoint_id, channel from replayed)),
  -- A task of the run is kept with all its writes or removed: with a part of them LangGraph would treat it as finished.
  dropped_writes_of_run as (
    delete from checkpoint_writes w
    where w.thread_id = _thread_id and w.run_id = _run_id and not exists (
      select from checkpoint_writes same
        join replayed r on r.checkpoint_ns = same.checkpoint_ns and r.checkpoint_id = same.checkpoint_id
          and r.channel = same.channel
      where same.thread_id = _thread_id and same.checkpoint_ns = w.checkpoint_ns
        and same.checkpoint_id = w.checkpoint_id and same.task_id = w.task_id))
  delete from checkpoints c
  where c.thread_id = _thread_id and c.is_replay_only
    and (c.checkpoint_ns, c.checkpoint_id) not in (select checkpoint_ns, checkpoint_id from needed);
end
$$;
