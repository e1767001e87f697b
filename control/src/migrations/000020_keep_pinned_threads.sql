-- Threads may be pinned to a revision (server/src/serving/README.md). Its units are kept for them, after another one took over.

alter table revisions
  drop constraint revisions_role_check,
  -- pinned: its units execute the runs of threads that are pinned to it, and sleep when there are none.
  add constraint revisions_role_check check (role in ('starting', 'serving', 'standby', 'pinned', 'retiring')),
  add column pinned_since timestamptz,
  -- At the last look.
  add column pinned_threads integer not null default 0,
  add constraint revision_pins_since_a_time check ((coalesce(role, '') = 'pinned') = (pinned_since is not null));
