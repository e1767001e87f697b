-- What is kept of what happens: events, who changed what, calls of webhooks, samples of what runs; and what a key may do.

-- Both records below are numbered in the order of commits, or a reader who goes on from a number could miss one that
-- commits late. So whoever writes to them takes this one lock, at the very end of its transaction: nothing is waited for
-- after it but the commit, no lock of a row either, so nobody waits for each other in a circle.
create function hold_the_records() returns void language sql as $$
  select pg_advisory_xact_lock(7283115)
$$;

create table events (
  event_id uuid primary key default gen_random_uuid(),
  -- Rises with the commits; null only inside the transaction that writes the event.
  seq bigint unique,
  workspace_id uuid not null references workspaces on delete cascade,
  -- Without keys into their tables: that a deployment went away is told when it is gone.
  deployment_id uuid,
  revision_id uuid,
  type text not null check (type ~ '^[a-z]+\.[a-z_]+$'),
  -- For people and programs outside: never a secret.
  data jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp()
);
create sequence event_seq owned by events.seq;
create index event_of_a_deployment on events (deployment_id, seq);
create index event_by_age on events (created_at);

create table webhooks (
  webhook_id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  url text not null,
  description text,
  -- None: all of them.
  event_types text[] not null,
  signing_secret_sealed text not null,
  created_at timestamptz not null default now()
);
create index webhook_of_a_workspace on webhooks (workspace_id);

create table webhook_deliveries (
  delivery_id uuid primary key default gen_random_uuid(),
  webhook_id uuid not null references webhooks on delete cascade,
  event_id uuid not null references events on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  tries integer not null default 0,
  next_try_at timestamptz default now(),
  last_tried_at timestamptz,
  -- What the last try came to: what the receiver answered, or why there is no answer.
  reply_status integer,
  failure text,
  unique (webhook_id, event_id),
  check ((state = 'pending') = (next_try_at is not null))
);
create index webhook_delivery_due on webhook_deliveries (next_try_at) where next_try_at is not null;

-- Numbers an event, puts it into the outbox of every webhook that wants it, and wakes those who follow.
create function settle_event() returns trigger language plpgsql as $$
begin
  perform hold_the_records();
  update events set seq = nextval('event_seq') where event_id = new.event_id;
  insert into webhook_deliveries (webhook_id, event_id)
    select webhook_id, new.event_id from webhooks
    where workspace_id = new.workspace_id and (event_types = '{}' or new.type = any (event_types))
    -- One that is locked is being deleted: whoever does so is about to wait for our lock.
    for key share skip locked;
  if found then
    perform pg_notify('superstep_webhooks', '');
  end if;
  perform pg_notify('superstep_events', coalesce(new.deployment_id, new.workspace_id)::text);
  return null;
end $$;
create constraint trigger event_is_settled after insert on events
  deferrable initially deferred for each row execute function settle_event();

-- Statuses are told from here, so that no writer can forget it.
create function record_deployment() returns trigger language plpgsql as $$
declare
  changed text[];
  left_revision revisions;
  next_revision revisions;
begin
  if tg_op = 'INSERT' then
    insert into events (workspace_id, deployment_id, type, data) values (new.workspace_id, new.deployment_id,
      'deployment.created', jsonb_build_object('name', new.name, 'source', new.source, 'status', new.status));
    return null;
  end if;
  if tg_op = 'DELETE' then
    insert into events (workspace_id, deployment_id, type, data) values (old.workspace_id, old.deployment_id,
      'deployment.deleted', jsonb_build_object('name', old.name));
    return null;
  end if;
  -- What follows its creation in the same transaction is part of that.
  if old.created_at = now() then
    return null;
  end if;
  if (new.version, new.status, new.active_revision_id) is distinct from (old.version, old.status, old.active_revision_id)
  then
    changed := array(
      select field.key from jsonb_each(to_jsonb(new)) field
      where field.value is distinct from to_jsonb(old) -> field.key
        and field.key not in ('version', 'updated_at', 'database_name', 'database_password_sealed')
      order by field.key);
    insert into events (workspace_id, deployment_id, type, data) values (new.workspace_id, new.deployment_id,
      'deployment.updated', jsonb_build_object('name', new.name, 'status', new.status, 'changed', changed));
  end if;
  if new.secrets_version <> old.secrets_version then
    insert into events (workspace_id, deployment_id, type, data) values (new.workspace_id, new.deployment_id,
      'secret.changed', jsonb_build_object('name', new.name, 'version', new.secrets_version, 'names', array(
        select secrets.name from secrets
        where deployment_id = new.deployment_id and secrets_version = new.secrets_version order by secrets.name)));
  end if;
  if new.active_revision_id is distinct from old.active_revision_id then
    select * into left_revision from revisions where revision_id = old.active_revision_id;
    select * into next_revision from revisions where revision_id = new.active_revision_id;
    if next_revision.seq < left_revision.seq or (next_revision.trigger = 'rollback' and left_revision.seq is not null)
    then
      insert into events (workspace_id, deployment_id, revision_id, type, data) values (new.workspace_id,
        new.deployment_id, left_revision.revision_id, 'revision.rolled_back', jsonb_build_object(
          'name', new.name, 'from_revision_id', left_revision.revision_id, 'to_revision_id', next_revision.revision_id,
          'automatic', next_revision.seq < left_revision.seq, 'error_code', left_revision.error_code));
    end if;
  end if;
  return null;
end $$;
create trigger deployment_is_recorded after insert or update or delete on deployments
  for each row execute function record_deployment();

create function record_revision() returns trigger language plpgsql as $$
declare
  previous text;
begin
  if tg_op = 'UPDATE' then
    previous := old.status;
  end if;
  insert into events (workspace_id, deployment_id, revision_id, type, data)
    select d.workspace_id, new.deployment_id, new.revision_id, 'revision.status_changed', jsonb_build_object(
      'name', d.name, 'number', new.seq, 'status', new.status, 'previous_status', previous, 'trigger', new.trigger,
      'commit_sha', new.commit_sha, 'error_code', new.error_code)
    from deployments d where d.deployment_id = new.deployment_id;
  return null;
end $$;
create trigger revision_is_recorded_new after insert on revisions for each row execute function record_revision();
create trigger revision_is_recorded after update of status on revisions
  for each row when (old.status is distinct from new.status) execute function record_revision();

-- The second end in a row that nobody asked for; as many take a new revision back (pipeline, P7).
create function record_crash_loop() returns trigger language plpgsql as $$
begin
  insert into events (workspace_id, deployment_id, revision_id, type, data)
    select d.workspace_id, new.deployment_id, new.revision_id, 'unit.crash_loop',
      jsonb_build_object('name', d.name, 'unit_id', new.unit_id, 'crashes', new.crashes)
    from deployments d where d.deployment_id = new.deployment_id;
  return null;
end $$;
create trigger unit_crash_loop_is_recorded after update of crashes on units
  for each row when (old.crashes < 2 and new.crashes >= 2) execute function record_crash_loop();

create table audit_log (
  audit_id uuid primary key default gen_random_uuid(),
  workspace_id uuid not null references workspaces,
  -- 1, 2 … within its workspace, in the order of commits; null only inside the transaction that writes it.
  seq bigint,
  at timestamptz not null default clock_timestamp(),
  -- Who: `api_key:<id>`, and the key's first characters.
  actor text not null,
  key_prefix text,
  ip text,
  -- What: the route, such as `DELETE /v2/deployments/{deployment_id}`, and the address that was asked.
  action text not null,
  path text not null,
  resource_type text,
  resource_id text,
  -- Of the resource's row before and after.
  before_hash text,
  after_hash text,
  request_id text,
  -- Each row holds the hash of the one before it: a row that is changed or taken out breaks the chain.
  prev_hash text,
  hash text,
  unique (workspace_id, seq)
);

-- Texts of times depend on the session's zone; the hash must not.
create function audit_hash(entry audit_log) returns text language sql stable set timezone to 'UTC' as $$
  select encode(sha256(convert_to(jsonb_build_array(entry.audit_id, entry.workspace_id, entry.seq, entry.at, entry.actor,
    entry.key_prefix, entry.ip, entry.action, entry.path, entry.resource_type, entry.resource_id, entry.before_hash,
    entry.after_hash, entry.request_id, entry.prev_hash)::text, 'UTF8')), 'hex')
$$;

create function settle_audit() returns trigger language plpgsql as $$
declare
  entry audit_log;
  last audit_log;
begin
  perform hold_the_records();
  select * into last from audit_log where workspace_id = new.workspace_id and seq is not null order by seq desc limit 1;
  entry := new;
  entry.seq := coalesce(last.seq, 0) + 1;
  entry.prev_hash := last.hash;
  update audit_log set seq = entry.seq, prev_hash = entry.prev_hash, hash = audit_hash(entry)
    where audit_id = new.audit_id;
  return null;
end $$;
create constraint trigger audit_is_settled after insert on audit_log
  deferrable initially deferred for each row execute function settle_audit();

create function refuse_change_of_audit() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only added to';
end $$;
create trigger audit_is_only_added_to before update or delete on audit_log
  for each row when (old.hash is not null) execute function refuse_change_of_audit();

-- Keys of before may do everything, as they could.
alter table api_keys
  add column scopes text[] not null default '{admin}'
    check (scopes <@ array['read', 'deploy', 'secrets', 'admin'] and scopes <> '{}'),
  add column expires_at timestamptz,
  -- To the minute: it is written when the last note is older.
  add column last_used_at timestamptz;

create function record_key() returns trigger language plpgsql as $$
begin
  insert into events (workspace_id, type, data) values (new.workspace_id,
    case when new.revoked_at is null then 'key.created' else 'key.revoked' end,
    jsonb_build_object('api_key_id', new.api_key_id, 'name', new.name, 'prefix', new.prefix, 'scopes', new.scopes));
  return null;
end $$;
-- A key of the whole installation belongs to no workspace that could be told.
create trigger key_is_recorded_new after insert on api_keys
  for each row when (new.workspace_id is not null) execute function record_key();
create trigger key_is_recorded after update of revoked_at on api_keys
  for each row when (new.workspace_id is not null and old.revoked_at is null and new.revoked_at is not null)
  execute function record_key();

create table unit_samples (
  deployment_id uuid not null references deployments on delete cascade,
  at timestamptz not null,
  unit_id uuid not null,
  revision_id uuid not null,
  -- 1: one processor, fully used since the last sample; with all processes that it started.
  cpu_cores real not null,
  rss_bytes bigint not null,
  restarts integer not null,
  primary key (deployment_id, at, unit_id)
);
create index unit_sample_by_age on unit_samples (at);

create table traffic_samples (
  deployment_id uuid not null references deployments on delete cascade,
  at timestamptz not null,
  -- Units that serve.
  replicas integer not null,
  -- Since the last sample, as the edge saw it; latency is the time until an answer began, by the edge's bounds.
  requests bigint not null,
  errors bigint not null,
  latency_ms double precision not null,
  latency_counts bigint[] not null,
  -- At that moment; null when the agent server did not tell.
  pending_runs integer,
  active_runs integer,
  primary key (deployment_id, at)
);
create index traffic_sample_by_age on traffic_samples (at);
