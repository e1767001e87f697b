-- The time of statements whose timers run in simulations, which replace it (docs/decisions/0074-planner-runs-in-simulated-time.md). Postgres
-- inlines it, so plans are those of now().
create or replace function superstep_now() returns timestamptz language sql stable parallel safe as 'select now()';

-- The present moment. A statement that has waited for a lock sees what was committed meanwhile, which is later than its transaction's
-- superstep_now().
create or replace function superstep_clock() returns timestamptz language sql volatile parallel safe as 'select clock_timestamp()';
