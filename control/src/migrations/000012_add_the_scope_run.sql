-- A key for a program that calls agents and may not deploy them. Until now every key could call them.
alter table api_keys
  drop constraint api_keys_scopes_check,
  add constraint api_key_scopes_are_known
    check (scopes <@ array['read', 'run', 'deploy', 'secrets', 'admin'] and scopes <> '{}');
