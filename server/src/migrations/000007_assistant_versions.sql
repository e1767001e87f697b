-- Every state that an assistant was given stays readable and can be made the current one again (agent-server-api §4.10,
-- §4.11). The row in `assistants` is the current version; here are all of them, that one included.

create table assistant_versions (
  assistant_id uuid not null references assistants on delete cascade,
  version integer not null,
  graph_id text not null,
  name text not null,
  description text,
  config json not null,
  context json not null,
  metadata json not null,
  created_at timestamptz not null default now(),
  primary key (assistant_id, version)
);

-- A trigger, so that also the servers of the release before, which insert assistants and know no versions, keep them.
create function keep_assistant_version() returns trigger language plpgsql as 'begin return null; end'; -- functions/ has its text.
create trigger assistants_keep_versions after insert or update on assistants
  for each row execute function keep_assistant_version();

insert into assistant_versions (assistant_id, version, graph_id, name, description, config, context, metadata, created_at)
  select assistant_id, version, graph_id, name, description, config, context, metadata, created_at from assistants;
