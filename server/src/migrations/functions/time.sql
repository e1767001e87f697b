-- The time of statements whose timers run in simulations, which replace it (docs/decisions/0074-planner-runs-in-simulated-time.md). Postgres
-- inlines it, so plans are those of now().
create or replace function superstep_now() returns timestamptz language sql stable parallel safe as 'select now()';
