-- Deployments have host names of their own, and certificates for them (docs/decisions/0034-host-names-and-their-certificates.md).

create table host_names (
  -- As in DNS: lower case, IDNA's ASCII form, no dot at the end. A name belongs to one deployment of the installation.
  host_name text primary key check (host_name ~ '^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$' and length(host_name) <= 253),
  deployment_id uuid not null references deployments on delete cascade,
  created_at timestamptz not null default now(),
  -- Since when requests for it reach the deployment: the operator added it, or the certificate authority has verified it.
  verified_at timestamptz,
  -- PEM with the certificates of its issuers. It is known by its hash.
  certificate text,
  certificate_sha256 text,
  private_key_sealed text,
  valid_from timestamptz,
  valid_until timestamptz,
  -- When the authority is asked for the next certificate, or asked again; null: never. Whoever asks sets it to the end of its
  -- claim first.
  next_try_at timestamptz,
  -- Tries since the last certificate, and why the last one failed.
  tries integer not null default 0,
  failure text,
  check (num_nulls(certificate, certificate_sha256, private_key_sealed, valid_from, valid_until) in (0, 5))
);

create index host_names_of_deployment on host_names (deployment_id);
create index host_names_due on host_names (next_try_at) where next_try_at is not null;

-- The installation's account at each authority.
create table acme_accounts (
  directory_url text primary key,
  private_key_sealed text not null,
  created_at timestamptz not null default now()
);

-- What the edge answers to an authority that verifies a name.
create table acme_challenges (
  token text primary key,
  host_name text not null references host_names on delete cascade,
  key_authorization text not null
);

create index acme_challenges_of_name on acme_challenges (host_name);

alter table workspace_quotas add column host_names integer check (host_names >= 0);

-- Types may consist of several words: host_name.active.
alter table events drop constraint events_type_check,
  add constraint events_type_check check (type ~ '^[a-z_]+\.[a-z_]+$');
