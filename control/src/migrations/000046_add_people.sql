-- People have accounts, beside keys for machines (docs/decisions/0094-people-have-accounts.md): a session and a one-time code stand for a key or for
-- a person, and the edge knows each member of a workspace by a hash of its own.

create table people (
  person_id uuid primary key,
  -- Who vouches for them: the address of the OIDC provider, or `invitation:<workspace>` where none is set.
  issuer text not null,
  subject text not null,
  email text not null,
  name text not null,
  created_at timestamptz not null default now(),
  signed_in_at timestamptz not null default now(),
  unique (issuer, subject)
);

create table members (
  workspace_id uuid not null references workspaces on delete cascade,
  person_id uuid not null references people on delete cascade,
  role text not null check (role in ('read', 'run', 'approve', 'deploy', 'admin')),
  -- What their agent tokens name, and the edge's table lists, as it does hashes of keys. Nothing has this hash.
  edge_sha256 text not null unique check (edge_sha256 ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null default now(),
  primary key (workspace_id, person_id)
);
create index members_of_person on members (person_id);

create table invitations (
  invitation_id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  -- In lower case. The newest invitation of an address is the only one.
  email text not null,
  role text not null check (role in ('read', 'run', 'approve', 'deploy', 'admin')),
  sha256 text not null unique check (sha256 ~ '^[0-9a-f]{64}$'),
  -- The actor: `person:<id>` or `api_key:<id>`.
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  unique (workspace_id, email)
);

create trigger member_changes_routes after insert or delete or update of role, edge_sha256 on members
  for each row execute function note_routes_of_a_key();

alter table console_sessions
  alter column api_key_id drop not null,
  add column person_id uuid references people on delete cascade,
  add column session_id uuid not null unique default gen_random_uuid(),
  -- Of the sign-in, by which its owner recognizes it.
  add column ip text,
  add column user_agent text,
  add constraint session_stands_for_one check (num_nonnulls(api_key_id, person_id) = 1);
create index console_sessions_of_person on console_sessions (person_id);

alter table console_codes
  alter column api_key_id drop not null,
  alter column workspace_id drop not null,
  add column person_id uuid references people on delete cascade,
  add constraint code_stands_for_one check (num_nonnulls(api_key_id, person_id) = 1);
create index console_codes_of_person on console_codes (person_id);

-- What an entry is about, by its name at that time, who did it, and which fields of the row changed. All null in entries of before, whose
-- hash stays as it is.
alter table audit_log
  add column actor_name text,
  add column resource_name text,
  add column changed text[];

create or replace function audit_hash(entry audit_log) returns text language sql stable set timezone to 'UTC' as $$
  select encode(sha256(convert_to((
    jsonb_build_array(entry.audit_id, entry.workspace_id, entry.seq, entry.at, entry.actor,
      entry.key_prefix, entry.ip, entry.action, entry.path, entry.resource_type, entry.resource_id, entry.before_hash,
      entry.after_hash, entry.request_id, entry.prev_hash)
    || case when num_nonnulls(entry.actor_name, entry.resource_name, entry.changed) = 0 then '[]'::jsonb
       else jsonb_build_array(entry.actor_name, entry.resource_name, entry.changed) end)::text, 'UTF8')), 'hex')
$$;
