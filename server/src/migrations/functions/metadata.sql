-- Users' data is stored as `json`. These functions make the `jsonb` copies for searches (D9b).

-- Converts any JSON text to `jsonb`: U+0000 and unpaired surrogates, which `jsonb` rejects, become U+FFFD. Null for a text that it
-- rejects for another reason, such as a number of a million digits: such a value matches nothing. Text without such escapes, which
-- is nearly all text, is not rewritten. Not parallel safe: an exception block starts a subtransaction.
create or replace function searchable(_value json) returns jsonb language plpgsql immutable strict parallel unsafe as $$
declare
  _text text := _value::text;
begin
  if strpos(_text, '\u0000') > 0 or strpos(_text, '\ud') > 0 or strpos(_text, '\uD') > 0 then
    _text := regexp_replace(_text, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g');
  end if;
  return _text::jsonb;
exception when others then
  return null;
end
$$;

-- Metadata comes from JSON.stringify, which has one way of escaping and writes no number that is too long. So there is no
-- exception block: each costs a subtransaction, and this is computed for every new row. In plpgsql, which caches its plans:
-- Postgres parses a SQL function again for each statement, which would be a sixth of the cost of creating a run.
create or replace function searchable_metadata(_metadata json, _graph_id text, _assistant_id uuid)
returns jsonb language plpgsql immutable parallel safe as $$
begin
  return case
    when strpos(_metadata::text, '\u0000') = 0 and strpos(_metadata::text, '\ud') = 0 then _metadata::text::jsonb
    else coalesce(searchable(_metadata), '{}')
  end || jsonb_strip_nulls(jsonb_build_object('graph_id', _graph_id, 'assistant_id', _assistant_id));
end
$$;

-- A part of JSON that JSON.stringify wrote. Postgres reads every string before the part, and rejects U+0000 and unpaired
-- surrogates anywhere; they become U+FFFD in the part.
create or replace function part_of_json(_value json, _path text[]) returns json language plpgsql immutable parallel unsafe as $$
begin
  if strpos(_value::text, '\u0000') = 0 and strpos(_value::text, '\ud') = 0 then
    return _value #> _path;
  end if;
  return (searchable(_value) #> _path)::json;
end
$$;
