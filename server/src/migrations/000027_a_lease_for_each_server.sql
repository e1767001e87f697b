-- Until when a server's claims are held without renewal (docs/decisions/0080). Null for a server of a release that renews each claim. Such
-- a server also writes `seen_at`, which the next release drops.
alter table servers add column lease_until timestamptz;
