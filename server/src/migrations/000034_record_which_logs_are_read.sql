-- The runs and threads whose logs a server reads for its clients, so that no other server deletes these logs (docs/decisions/0014). A server of
-- the release before writes and asks nothing of this.
alter table servers add column reads_logs uuid[] not null default '{}';
