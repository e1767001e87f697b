-- Versions of assistants: each insert and update of `assistants` keeps one.

create or replace function keep_assistant_version() returns trigger language plpgsql as $$
begin
  insert into assistant_versions (assistant_id, version, graph_id, name, description, config, context, metadata)
    values (new.assistant_id, new.version, new.graph_id, new.name, new.description, new.config, new.context, new.metadata)
    on conflict (assistant_id, version) do update set graph_id = excluded.graph_id, name = excluded.name,
      description = excluded.description, config = excluded.config, context = excluded.context,
      metadata = excluded.metadata;
  return null;
end
$$;

-- Changes with each change of an assistant, also when it is deleted and created again with the same id.
create or replace function assistant_stamp(a assistants) returns text language sql stable as $$
  select a.version || ' ' || extract(epoch from a.updated_at)
$$;
