-- What users own is `json`; these make the `jsonb` copies that are searched (D9b).

-- Makes `jsonb` of any JSON text: U+0000 and halves of surrogate pairs, which `jsonb` refuses, become U+FFFD. Null for a text that
-- it refuses even so, such as a number of a million digits: such a value matches nothing. A text without those escapes, which is
-- nearly every one, is not rewritten. Not parallel safe: an exception block begins a subtransaction.
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

-- Metadata comes from JSON.stringify, which escapes in one way only and writes no number that is too long. No exception
-- block here: each costs a subtransaction, and this is computed for every new row.
create or replace function searchable_metadata(_metadata json, _graph_id text, _assistant_id uuid)
returns jsonb language sql immutable parallel safe as $$
  select case
    when strpos(_metadata::text, '\u0000') = 0 and strpos(_metadata::text, '\ud') = 0 then _metadata::text::jsonb
    else coalesce(searchable(_metadata), '{}')
  end || jsonb_strip_nulls(jsonb_build_object('graph_id', _graph_id, 'assistant_id', _assistant_id))
$$;
