-- Objects of a cluster and images in a registry carry the id of their installation. Control planes on several computers have no data folder in
-- common that could keep it.
create table installation (
  only_one boolean primary key default true check (only_one),
  id text not null
);
