-- What users own is `json`, which takes every text that JSON allows (D9b). Searches and access rules ask for containment,
-- which only `jsonb` can, and an index on it. So there is a copy that differs where jsonb cannot say the same: U+0000 and
-- halves of surrogate pairs become U+FFFD.

-- Null for a text that jsonb refuses even so, such as a number of a million digits: such a value matches nothing.
create function searchable(_value json) returns jsonb language plpgsql immutable strict parallel safe as $$
begin
  return regexp_replace(_value::text, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g')::jsonb;
exception when others then
  return null;
end
$$;

-- Metadata comes from JSON.stringify, which escapes in one way only and writes no number that is too long. No exception
-- block here: each costs a subtransaction, and this is computed for every new row.
create function searchable_metadata(_metadata json, _graph_id text, _assistant_id uuid)
returns jsonb language sql immutable parallel safe as $$
  select case
    when strpos(_metadata::text, '\u0000') = 0 and strpos(_metadata::text, '\ud') = 0 then _metadata::text::jsonb
    else coalesce(searchable(_metadata), '{}')
  end || jsonb_strip_nulls(jsonb_build_object('graph_id', _graph_id, 'assistant_id', _assistant_id))
$$;

alter table threads add column searchable_metadata jsonb not null
  generated always as (searchable_metadata(metadata, graph_id, assistant_id)) stored;
-- A stateless run's thread is never searched for, and its run should not pay for the index.
create index threads_by_metadata on threads using gin (searchable_metadata jsonb_path_ops) where not is_ephemeral;

alter table assistants add column searchable_metadata jsonb not null
  generated always as (searchable_metadata(metadata, null, null)) stored;
create index assistants_by_metadata on assistants using gin (searchable_metadata jsonb_path_ops);
