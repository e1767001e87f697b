-- Semantic search in the store: the vectors of an item's texts, in the table of LangGraph's Python library, so that users'
-- tools read them. Its column is of pgvector's type where that extension can be had, and an array where not; everything
-- that depends on this is in three functions, so that the server's statements are the same for both.

create table store_vectors (
  prefix text not null,
  key text not null,
  -- The path of the text in the value, such as `$`; with a number behind it where a path leads to several texts.
  field_name text not null,
  embedding real[] not null,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  primary key (prefix, key, field_name),
  foreign key (prefix, key) references store (prefix, key) on delete cascade
);

-- What the Python library believes to be applied. Its index wants a fixed number of dimensions, which is a setting here.
create table vector_migrations (v integer primary key);
insert into vector_migrations select generate_series(0, 2);

do $do$
begin
  if exists (select from pg_available_extensions where name = 'vector') then
    begin
      create extension if not exists vector;
    exception when insufficient_privilege then
      raise notice 'the extension vector may not be created by this role: vectors are kept as arrays';
    end;
  end if;

  if to_regtype('vector') is not null then
    alter table store_vectors alter column embedding type vector using embedding::vector;
    execute $$create function to_embedding(_text text) returns vector language sql immutable strict parallel safe as
      'select _text::vector'$$;
    -- A vector of zeros has no direction, so its distance is NaN.
    execute $$create function embedding_similarity(_one vector, _other vector) returns double precision
      language sql immutable strict parallel safe as
      'select case when vector_dims(_one) = vector_dims(_other)
        then coalesce(1 - nullif(_one <=> _other, double precision ''NaN''), 0) end'$$;
  else
    execute $$create function to_embedding(_text text) returns real[] language sql immutable strict parallel safe as
      'select translate(_text, ''[]'', ''{}'')::real[]'$$;
    execute $$create function embedding_similarity(_one real[], _other real[]) returns double precision
      language sql immutable strict parallel safe as
      'select case when cardinality(_one) = cardinality(_other) then (
        select coalesce(greatest(-1, least(1, sum(a * b) / nullif(sqrt(sum(a * a)) * sqrt(sum(b * b)), 0))), 0)
        from unnest(_one::double precision[], _other::double precision[]) as both_of (a, b)) end'$$;
  end if;
end
$do$;
comment on function embedding_similarity is 'cosine; null for vectors of different length, as other embeddings make them';

-- A vector is of the value that is there, whoever changed it.
create function forget_vectors() returns trigger language plpgsql as 'begin return null; end'; -- functions/ has its text.
create trigger store_forget_vectors after update of value on store
  for each row when (old.value is distinct from new.value) execute function forget_vectors();

-- Half a minute, prolonged by a reader, must stay half a minute.
alter table store alter column ttl_minutes type double precision;
