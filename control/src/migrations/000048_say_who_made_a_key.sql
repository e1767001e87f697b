-- Which person or key made a key, as actors are written elsewhere: when somebody leaves, it says which keys they may know. Null for one that the
-- `superstep` command or the first start made. Earlier keys have it from the audit log.
alter table api_keys add column created_by text;

update api_keys k set created_by = a.actor
  from audit_log a where a.action = 'POST /v2/api-keys' and a.resource_type = 'api_key' and a.resource_id = k.api_key_id::text;
