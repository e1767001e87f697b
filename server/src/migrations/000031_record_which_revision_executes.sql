-- The revision that executes the last attempt of a run, or executed it: a deploy that breaks something shows in its runs. Null: a server
-- without revisions, a run that no server has claimed yet, or one of before.
alter table runs add column executed_revision_id text;
