-- People sign in to the console: a session and a one-time code each stand for one API key (docs/decisions/0046).

create table console_sessions (
  -- SHA-256 of the id in the cookie, in hex.
  sha256 text primary key check (sha256 ~ '^[0-9a-f]{64}$'),
  api_key_id uuid not null references api_keys on delete cascade,
  created_at timestamptz not null default now(),
  -- Accurate to the minute.
  last_used_at timestamptz not null default now(),
  -- However often it is used.
  expires_at timestamptz not null
);

create index console_sessions_of_key on console_sessions (api_key_id);

create table console_codes (
  sha256 text primary key check (sha256 ~ '^[0-9a-f]{64}$'),
  api_key_id uuid not null references api_keys on delete cascade,
  -- The workspace for which it was made; its audit log records the sign-in.
  workspace_id uuid not null references workspaces on delete cascade,
  expires_at timestamptz not null
);

create index console_codes_of_key on console_codes (api_key_id);
