-- Archives that clients upload, and ssh keys for git hosts.

create table uploads (
  upload_id uuid primary key,
  deployment_id uuid not null references deployments on delete cascade,
  created_at timestamptz not null default now(),
  -- Until then its address takes an archive.
  expires_at timestamptz not null,
  -- Set when the archive is complete; its address takes no second one.
  stored_at timestamptz,
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  size_bytes bigint,
  -- When a revision was last asked for with it.
  used_at timestamptz,
  -- The file is gone. The row stays: its hash leads a redeploy to what was built of it.
  removed_at timestamptz,
  check ((stored_at is null) = (sha256 is null) and (stored_at is null) = (size_bytes is null)),
  check (stored_at is not null or (used_at is null and removed_at is null))
);
create index upload_of_a_deployment on uploads (deployment_id);

alter table integrations
  -- What `token_sealed` holds: a token for http(s), or a private key for ssh.
  add column auth text not null default 'token' check (auth in ('token', 'ssh_key')),
  -- The public half, to be stored at the host.
  add column ssh_public_key text,
  -- The host keys that are accepted, as lines of known_hosts; without them the first key of a host is kept.
  add column known_hosts text,
  add check ((auth = 'ssh_key') = (ssh_public_key is not null)),
  add check (auth = 'ssh_key' or known_hosts is null);
