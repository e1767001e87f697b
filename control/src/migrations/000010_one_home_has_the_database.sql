-- One data folder has the database. Two would both start every unit, and one of them would go on sealing under a key that
-- the other has changed (S8).
create table home_in_charge (
  only_one boolean primary key default true check (only_one),
  -- Of the data folder, as in its file `id`.
  home_id text not null,
  -- Told every few seconds by its control plane; one that ends in order leaves no row.
  seen_at timestamptz not null default now()
);
