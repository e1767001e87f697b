-- Statements of the planner and the pipeline asked for the time by `now()`, so a test could not decide what time it is: whatever depends on a
-- minute took a minute to test. They ask this function, which Postgres inlines. A simulation replaces it in its own database
-- (docs/decisions/0074-planner-runs-in-simulated-time.md).
create function superstep_now() returns timestamptz language sql stable parallel safe as 'select now()';

alter table units alter column start_after set default superstep_now(), alter column active_at set default superstep_now();
alter table revisions alter column not_before set default superstep_now();
