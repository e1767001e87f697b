-- Logs belong to a deployment: read and followed across its revisions, found by run, and kept within a quota.

alter table log_lines
  -- Its revision's. No reference: adding a line must not wait for whoever changes the deployment.
  add column deployment_id uuid,
  -- As the line says; it is no reference, since runs are in the deployment's own database.
  add column run_id uuid;
update log_lines l set deployment_id = r.deployment_id from revisions r where r.revision_id = l.revision_id;
alter table log_lines alter column deployment_id set not null;
create index log_line_of_a_deployment on log_lines (deployment_id, stream, log_line_id);
create index log_line_of_a_run on log_lines (run_id, log_line_id) where run_id is not null;

-- One row a deployment and stream. Who adds lines holds both, so that a deployment's ids become visible in their order.
create table log_books (
  deployment_id uuid not null references deployments on delete cascade,
  stream text not null check (stream in ('build', 'deploy')),
  -- What its lines take up, see `log_line_bytes`.
  bytes bigint not null default 0,
  last_at timestamptz not null default '-infinity',
  -- Lines that the quota has cost since it was last said in the log.
  dropped_lines bigint not null default 0,
  primary key (deployment_id, stream)
);

-- A line's text, and about what its row and its places in the indexes take up: empty lines are not free.
create function log_line_bytes(message text) returns bigint language sql immutable parallel safe
  return octet_length(message) + 100;

insert into log_books (deployment_id, stream) select deployment_id, s from deployments, unnest(array['build', 'deploy']) s;
update log_books b set bytes = sums.bytes, last_at = sums.last_at
  from (select deployment_id, stream, sum(log_line_bytes(message)) as bytes, max(at) as last_at
        from log_lines group by deployment_id, stream) sums
  where b.deployment_id = sums.deployment_id and b.stream = sums.stream;

create function open_log_books() returns trigger language plpgsql as $$
begin
  insert into log_books (deployment_id, stream) values (new.deployment_id, 'build'), (new.deployment_id, 'deploy');
  return null;
end $$;
create trigger open_log_books after insert on deployments for each row execute function open_log_books();

-- Adds lines to a revision's stream in their order. Times never lie in the future and rise by at least a microsecond from
-- line to line of a deployment's stream, whatever the lines claim: a reader who asks for "from the newest time that I
-- have seen" misses nothing and always gets on. Null for a claimed time is now.
-- Gives the bytes that the deployment's logs take up now; null when the revision is gone.
create function append_log_lines(
  of_revision uuid, of_stream text, claimed timestamptz[], levels text[], messages text[], run_ids uuid[]
) returns bigint language plpgsql as $$
declare
  book log_books;
  tick constant interval := interval '1 microsecond';
  total bigint;
begin
  -- In the order in which everybody takes them: the revision, the books, then units.
  perform 1 from revisions where revision_id = of_revision for key share;
  -- Both: whoever reads the two streams as one must see ids in their order too.
  perform 1 from log_books b join revisions r using (deployment_id)
    where r.revision_id = of_revision order by b.stream for update of b;
  select b.* into book from log_books b join revisions r using (deployment_id)
    where r.revision_id = of_revision and b.stream = of_stream;
  if not found then
    return null;
  end if;

  with given as (
    select place, level, message, run_id,
      least(coalesce(said_at, clock_timestamp()), clock_timestamp()) - place * tick as head
    from unnest(claimed, levels, messages, run_ids) with ordinality as line (said_at, level, message, run_id, place)
  ), timed as (
    select *, greatest(max(head) over (order by place), book.last_at) + place * tick as at from given
  ), added as (
    insert into log_lines (deployment_id, revision_id, stream, at, level, message, run_id)
    select book.deployment_id, of_revision, of_stream, at, level, message, run_id from timed order by place
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
