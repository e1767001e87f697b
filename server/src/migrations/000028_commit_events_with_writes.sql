-- `commit_claims` also says where the events that it has logged are in the logs of their threads. A changed result type needs a new function.
drop function if exists commit_claims(json, json, bytea);
