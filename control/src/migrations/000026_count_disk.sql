-- What a workspace keeps on the platform's disk is bounded. It is measured when a build ends, since only builds add to it.

-- Null means the installation's default.
alter table workspace_quotas add column disk_mb integer check (disk_mb >= 0);

-- Artefacts and caches at the last measurement; null before the first one, which retention makes.
alter table deployments add column disk_mb integer check (disk_mb >= 0);
