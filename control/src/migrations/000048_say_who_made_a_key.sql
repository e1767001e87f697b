-- Which person or key made a key, as actors are written elsewhere: when somebody leaves, it says which keys they may know. Null for one that the
-- `superstep` command or the first start made, and for one that is older than this column.
alter table api_keys add column created_by text;
