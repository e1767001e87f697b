-- What only servers of 0.1.0 and before used. Servers of two successive releases share a database, and 0.2.0 uses none of it.
drop function if exists create_run(uuid, uuid, text, json, uuid, text, json, json, text, boolean, boolean, double precision, uuid, boolean,
  boolean, integer, text, json, text);
drop function if exists cancel_run(uuid, uuid, text, text);
drop function if exists write_claims(json, json, bytea);
drop function if exists release_run(uuid, uuid, text, uuid, integer, json);
drop function if exists finish_run(uuid, uuid, text, json, json, json, text);
drop function if exists tell_release_before(jsonb, jsonb);
drop function if exists keep_latest_checkpoints(uuid);
drop function if exists tell_crons_changed();
drop table serving;
drop function if exists follow_serving();
