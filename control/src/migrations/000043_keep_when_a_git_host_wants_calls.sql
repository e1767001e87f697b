-- A git host counts the calls of a workspace's credentials together: when it asks to be left alone, that holds for all of the workspace's
-- statuses, not only for the one that it refused. Null: it has not asked.
alter table integrations add column not_before timestamptz;
