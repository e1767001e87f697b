-- Checkpoints and the store, in the tables of LangGraph's own Postgres libraries, so that users' tools read them
-- (architecture D7). What is ours is marked; the libraries name their columns and never see it.
-- The functions fence: plpgsql takes a new snapshot for each statement, so what follows the lock on the claim sees all
-- that happened while it waited. A condition inside the writing statement would not (architecture D2).

create table checkpoints (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  parent_checkpoint_id text,
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}',
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);

create table checkpoint_blobs (
  thread_id text not null,
  checkpoint_ns text not null default '',
  channel text not null,
  version text not null,
  type text not null,
  blob bytea,
  primary key (thread_id, checkpoint_ns, channel, version)
);

create table checkpoint_writes (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  channel text not null,
  type text,
  blob bytea not null,
  -- From the Python library; the JavaScript one does not read it.
  task_path text not null default '',
  -- Ours: the run that wrote it, so that a rollback finds what it added to checkpoints of earlier runs.
  run_id uuid,
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

-- What both libraries believe to be applied: the five steps they share. Those that either adds later are idempotent.
create table checkpoint_migrations (v integer primary key);
insert into checkpoint_migrations select generate_series(0, 4);

create table store (
  -- The namespace joined by dots, which no label may hold. This is the Python library's layout.
  prefix text not null,
  key text not null,
  value jsonb not null,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  expires_at timestamptz,
  ttl_minutes integer,
  -- Ours: the value as it was written; `value` is its copy for filters and for other tools (architecture D9b).
  exact_value json,
  -- Ours: what the JavaScript library calls the namespace, for reading. It joins by colons, which a label may hold.
  namespace_path text generated always as (replace(prefix, '.', ':')) stored,
  primary key (prefix, key)
);
create index store_prefix_idx on store (prefix text_pattern_ops);
create index idx_store_expires_at on store (expires_at) where expires_at is not null;

create table store_migrations (v integer primary key);
insert into store_migrations select generate_series(0, 3);

-- Another tool that changes `value` knows nothing of the exact one, which then must go.
create function forget_exact_value() returns trigger language plpgsql as $$
begin
  if new.value is distinct from old.value and new.exact_value::text is not distinct from old.exact_value::text then
    new.exact_value := null;
  end if;
  return new;
end
$$;
create trigger store_forget_exact_value before update of value on store
  for each row execute function forget_exact_value();

-- Holds a claim until the transaction ends: nobody can take the run away before what follows is committed.
-- Without a run there is nothing to hold, which is how the API itself writes. False: the claim was lost.
create function hold_claim(_run_id uuid, _claim_id uuid) returns boolean language plpgsql as $$
begin
  if _run_id is null then
    return true;
  end if;
  perform from runs where run_id = _run_id and claim_id = _claim_id for share;
  return found;
end
$$;

-- Saves a checkpoint and the blobs that are new with it. Blob n is the `_sizes[n]` bytes from `_starts[n]` of
-- `_bytes`, counted from 1; null for a channel that is empty.
create function put_checkpoint(
  _run_id uuid, _claim_id uuid, _thread_id text, _checkpoint_ns text, _checkpoint_id text, _parent_checkpoint_id text,
  _checkpoint jsonb, _metadata jsonb, _channels text[], _versions text[], _types text[], _starts integer[],
  _sizes integer[], _bytes bytea
) returns boolean language plpgsql as $$
begin
  if not hold_claim(_run_id, _claim_id) then
    return false;
  end if;
  insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    select _thread_id, _checkpoint_ns, channel, version, type, substring(_bytes from start for size)
    from unnest(_channels, _versions, _types, _starts, _sizes) as new (channel, version, type, start, size)
    on conflict do nothing;
  insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    values (_thread_id, _checkpoint_ns, _checkpoint_id, _parent_checkpoint_id, _checkpoint,
      case when _run_id is null then _metadata else _metadata || jsonb_build_object('run_id', _run_id) end)
    on conflict (thread_id, checkpoint_ns, checkpoint_id) do update
      set checkpoint = excluded.checkpoint, metadata = excluded.metadata;
  return true;
end
$$;

-- Saves what tasks wrote before their super-step ended. `_replaces`: these writes take the place of earlier ones.
create function put_checkpoint_writes(
  _run_id uuid, _claim_id uuid, _thread_id text, _checkpoint_ns text, _checkpoint_id text, _replaces boolean,
  _task_ids text[], _task_paths text[], _idxs integer[], _channels text[], _types text[], _starts integer[],
  _sizes integer[], _bytes bytea
) returns boolean language plpgsql as $$
begin
  if not hold_claim(_run_id, _claim_id) then
    return false;
  end if;
  insert into checkpoint_writes
      (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob, run_id)
    select _thread_id, _checkpoint_ns, _checkpoint_id, task_id, task_path, idx, channel, type,
      substring(_bytes from start for size), _run_id
    from unnest(_task_ids, _task_paths, _idxs, _channels, _types, _starts, _sizes)
      as new (task_id, task_path, idx, channel, type, start, size)
    on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update
      set channel = excluded.channel, type = excluded.type, blob = excluded.blob, run_id = excluded.run_id
      where _replaces;
  return true;
end
$$;

-- Puts and deletes items; no value means delete. A key may come once.
create function put_store_items(
  _run_id uuid, _claim_id uuid, _prefixes text[], _keys text[], _exact_values text[], _values text[],
  _ttls double precision[]
) returns boolean language plpgsql as $$
begin
  if not hold_claim(_run_id, _claim_id) then
    return false;
  end if;
  delete from store s using unnest(_prefixes, _keys, _values) as old (prefix, key, value)
    where old.value is null and s.prefix = old.prefix and s.key = old.key;
  insert into store (prefix, key, exact_value, value, expires_at, ttl_minutes)
    select prefix, key, exact_value::json, value::jsonb, now() + make_interval(secs => ttl * 60), ceil(ttl)
    from unnest(_prefixes, _keys, _exact_values, _values, _ttls) as new (prefix, key, exact_value, value, ttl)
    where value is not null
    -- One order of locks for everybody, so that two batches on the same items do not wait for each other.
    order by prefix, key
    on conflict (prefix, key) do update
      set exact_value = excluded.exact_value, value = excluded.value, expires_at = excluded.expires_at,
        ttl_minutes = excluded.ttl_minutes, updated_at = now();
  return true;
end
$$;

-- For the end of a stateless run and of a rolled back one; part of the queue's own functions, so no round trip of theirs.
create function delete_checkpoints(_thread_id uuid) returns void language sql as $$
  delete from checkpoint_writes where thread_id = _thread_id::text;
  delete from checkpoint_blobs where thread_id = _thread_id::text;
  delete from checkpoints where thread_id = _thread_id::text;
$$;

-- Blobs stay: those of older checkpoints share the table, and versions of a rolled back run are never asked for again.
-- A run that answered an interrupt also wrote to the checkpoint before it; what it replaced there is not brought back.
create function delete_checkpoints_of_run(_thread_id uuid, _run_id uuid) returns void language sql as $$
  delete from checkpoint_writes w using checkpoints c
  where c.thread_id = _thread_id::text and c.metadata ->> 'run_id' = _run_id::text
    and w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id;
  delete from checkpoint_writes where thread_id = _thread_id::text and run_id = _run_id;
  delete from checkpoints where thread_id = _thread_id::text and metadata ->> 'run_id' = _run_id::text;
$$;
