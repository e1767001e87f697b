-- A reader of an agent's log looks for what the agent's code printed, and Superstep's own lines were between. A line now says whether Superstep
-- wrote it, and the thread of its run, so that the run can be found without the line of its start. A release that runs beside this one
-- calls the former function, whose lines say neither; so do lines of before.
alter table log_lines add column thread_id uuid, add column is_platform boolean not null default false;

create function append_log_lines(
  of_revision uuid, of_stream text, claimed timestamptz[], levels text[], messages text[], run_ids uuid[], thread_ids uuid[],
  by_platform boolean[]
) returns bigint language plpgsql as $$
declare
  book log_books;
  tick constant interval := interval '1 microsecond';
  total bigint;
begin
  -- In the order in which all writers take them: the revision, the books, then units.
  perform 1 from revisions where revision_id = of_revision for key share;
  -- Both: a reader of the two streams as one must see ids in their order too.
  perform 1 from log_books b join revisions r using (deployment_id)
    where r.revision_id = of_revision order by b.stream for update of b;
  select b.* into book from log_books b join revisions r using (deployment_id)
    where r.revision_id = of_revision and b.stream = of_stream;
  if not found then
    return null;
  end if;

  with given as (
    select place, level, message, run_id, thread_id, is_platform,
      least(coalesce(said_at, clock_timestamp()), clock_timestamp()) - place * tick as head
    from unnest(claimed, levels, messages, run_ids, thread_ids, by_platform)
      with ordinality as line (said_at, level, message, run_id, thread_id, is_platform, place)
  ), timed as (
    select *, greatest(max(head) over (order by place), book.last_at) + place * tick as at from given
  ), added as (
    insert into log_lines (deployment_id, revision_id, stream, at, level, message, run_id, thread_id, is_platform)
    select book.deployment_id, of_revision, of_stream, at, level, message, run_id, thread_id, is_platform
    from timed order by place
    returning at, message
  )
  update log_books b
    set bytes = b.bytes + sums.bytes, last_at = greatest(b.last_at, sums.last_at)
    from (select coalesce(sum(log_line_bytes(message)), 0) as bytes, max(at) as last_at from added) sums
    where b.deployment_id = book.deployment_id and b.stream = of_stream;

  perform pg_notify('superstep_logs', book.deployment_id::text);
  select sum(bytes) into total from log_books where deployment_id = book.deployment_id;
  return total;
end $$;

-- For the release before.
create or replace function append_log_lines(
  of_revision uuid, of_stream text, claimed timestamptz[], levels text[], messages text[], run_ids uuid[]
) returns bigint language sql as $$
  select append_log_lines(of_revision, of_stream, claimed, levels, messages, run_ids, array[]::uuid[],
    array_fill(false, array[cardinality(messages)]))
$$;
