-- The store: items and their vectors.

-- Trigger: other tools that change `value` do not know `exact_value`, which is then outdated.
create or replace function forget_exact_value() returns trigger language plpgsql as $$
begin
  if new.value is distinct from old.value and new.exact_value::text is not distinct from old.exact_value::text then
    new.exact_value := null;
  end if;
  return new;
end
$$;

-- Writes and deletes items, fenced by a claim; an item without a value is deleted. An item that replaces an expired one counts as new.
-- False: the claim was lost and nothing was written.
create or replace function put_store_items(
  _run_id uuid, _claim_id uuid, _prefixes text[], _keys text[], _exact_values text[], _values text[],
  _ttls double precision[]
) returns boolean language plpgsql as $$
begin
  if not hold_claim(_run_id, _claim_id) then
    return false;
  end if;
  insert into store (prefix, key, exact_value, value, expires_at, ttl_minutes)
    select prefix, key, exact_value::json, coalesce(value, '{}')::jsonb, now() + make_interval(secs => ttl * 60), ttl
    from unnest(_prefixes, _keys, _exact_values, _values, _ttls) as new (prefix, key, exact_value, value, ttl)
    -- Every batch locks in this order, so that two batches on the same items do not deadlock. Items to delete take part: an item
    -- that another batch is inserting cannot be locked in any other way.
    order by prefix, key
    on conflict (prefix, key) do update
      set exact_value = excluded.exact_value, value = excluded.value, expires_at = excluded.expires_at,
        ttl_minutes = excluded.ttl_minutes, updated_at = now(),
        created_at = case when store.expires_at <= now() then now() else store.created_at end;
  delete from store s using unnest(_prefixes, _keys, _values) as old (prefix, key, value)
    where old.value is null and s.prefix = old.prefix and s.key = old.key;
  return true;
end
$$;

-- `put_store_items` with the items' vectors: vector n belongs to item `_items[n]`, counted from 1, and its text is `[0.1,0.2]`.
create or replace function put_indexed_store_items(
  _run_id uuid, _claim_id uuid, _prefixes text[], _keys text[], _exact_values text[], _values text[],
  _ttls double precision[], _items integer[], _field_names text[], _vectors text[]
) returns boolean language plpgsql as $$
begin
  if not put_store_items(_run_id, _claim_id, _prefixes, _keys, _exact_values, _values, _ttls) then
    return false;
  end if;
  delete from store_vectors v using unnest(_prefixes, _keys) as item (prefix, key)
    where v.prefix = item.prefix and v.key = item.key;
  insert into store_vectors (prefix, key, field_name, embedding)
    select _prefixes[item], _keys[item], field_name, to_embedding(vector)
    from unnest(_items, _field_names, _vectors) as new (item, field_name, vector);
  return true;
end
$$;

-- Trigger: a changed value makes its vectors outdated.
create or replace function forget_vectors() returns trigger language plpgsql as $$
begin
  delete from store_vectors where prefix = new.prefix and key = new.key;
  return null;
end
$$;
