-- Of the processes of one installation, the one that is in charge: the others stand by. Null is a process of a former release.
alter table home_in_charge add column process_id text;
