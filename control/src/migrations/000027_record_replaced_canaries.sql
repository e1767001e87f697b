-- A canary that another revision replaces never took over either.

drop trigger canary_is_recorded on revisions;
create trigger canary_is_recorded after update of role on revisions for each row
  when (old.role = 'canary' and new.role in ('serving', 'retiring', 'pinned')) execute function record_canary();
