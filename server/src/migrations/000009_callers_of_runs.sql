-- Who asked for a run, what for, and what was answered.
--
-- What was answered to which request stays for a day: a client that did not hear the reply sends its request again under
-- the same key, and it has its effect once. The row commits with the effect, so no kill comes between the two.

create table idempotency_keys (
  -- Of who calls and of the key: either may be any text, of any length.
  key_sha256 bytea primary key,
  request_sha256 bytea not null,
  -- Null only inside the transaction that took the key.
  status integer,
  headers jsonb,
  body text,
  created_at timestamptz not null default now()
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

alter table runs
  -- What the graph is told of who asked; kept apart from `kwargs`, which clients read.
  add column caller json,
  -- Where to tell of the run's end; null for nearly all.
  add column webhook text,
  -- Why it was asked to stop.
  add column cancel_reason text;
