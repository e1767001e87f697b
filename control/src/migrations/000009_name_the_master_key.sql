-- The master key can be changed: the database says which one its values are sealed under, so that a start cannot take
-- another one, at whatever moment a change was killed.
create table master_key (
  only_one boolean primary key default true check (only_one),
  -- The first 8 hexadecimal digits of the key's SHA-256, as in each sealed value.
  key_id text not null,
  sealed_at timestamptz not null default now()
);
