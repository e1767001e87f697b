-- A listener is another installation, which calls with tokens of its own; its row says when it called last (docs/decisions/0052).

create table listener_tokens (
  token_id uuid primary key,
  listener_id uuid not null references listeners on delete cascade,
  name text not null,
  prefix text not null,
  -- A token is 256 random bits, so a plain hash is enough.
  sha256 text not null unique check (sha256 ~ '^[0-9a-f]{64}$'),
  -- The installation that uses it: the first one that called with it.
  home_id text,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index listener_token_of_listener on listener_tokens (listener_id);

-- Accurate to ten seconds; null: it never called.
alter table listeners add column last_seen_at timestamptz;
