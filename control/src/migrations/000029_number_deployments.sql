-- A deployment's number is never reused. What a machine derives from it (a user of its own) is the machine's business.
-- breaking: former releases read the column by its former name.
alter table deployments rename column uid_offset to number;
