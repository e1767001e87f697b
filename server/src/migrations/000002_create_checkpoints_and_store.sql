-- Checkpoints and the store, in the tables of LangGraph's own Postgres libraries, so that users' tools read them
-- (architecture D7). What is ours is marked; the libraries name their columns and never see it.

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
create function forget_exact_value() returns trigger language plpgsql as 'begin return new; end'; -- functions/ has its text.
create trigger store_forget_exact_value before update of value on store
  for each row execute function forget_exact_value();
