-- What a revision's units are for is said once, of the revision. The planner reads it, and derives from it what each unit should do
-- (control/src/planner). A unit keeps only what was observed of it.

alter table revisions
  -- starting: its units start, and get neither requests nor runs; serving: they get both; standby: they served before, finish what they
  -- have, and get the requests that the serving ones cannot take; retiring: they finish what they have. Null: it has no units.
  add column role text check (role in ('starting', 'serving', 'standby', 'retiring')),
  -- The units of a retiring revision end when they are idle, and at this time at the latest.
  add column retire_by timestamptz,
  add constraint revision_retires_by_a_time check ((coalesce(role, '') = 'retiring') = (retire_by is not null));

with last_drain as (
  select distinct on (u.deployment_id) u.deployment_id, u.revision_id from units u
  join revisions r on r.deployment_id = u.deployment_id and r.stage in ('switch', 'verify', 'drain') and r.watch_ended_at is null
  where u.state = 'draining' order by u.deployment_id, u.created_at desc, u.revision_id
), had as (
  select revision_id, deployment_id, bool_or(state = 'serving') as serves, bool_or(state = 'starting') as starts,
    bool_or(state = 'draining') as drains
  from units group by revision_id, deployment_id
), roles as (
  select had.*, case when serves then 'serving' when starts then 'starting'
    when exists (select from last_drain where last_drain.revision_id = had.revision_id) then 'standby' else 'retiring' end as role
  from had
)
update revisions set role = roles.role,
  retire_by = case when roles.role = 'retiring' then now() + case when drains then interval '15 minutes' else interval '0' end end
from roles where roles.revision_id = revisions.revision_id;

create unique index revision_one_serves_a_deployment on revisions (deployment_id) where role = 'serving';
create unique index revision_one_stands_by on revisions (deployment_id) where role = 'standby';
create index revision_with_units on revisions (deployment_id) where role is not null;

drop index unit_one_revision_serves_a_deployment;
alter table units drop column state, drop column state_since;

-- A revision is DEPLOYED when its public address answers with it; what becomes of the units before it is the planner's.
update revisions set stage = null, lease_owner = null, lease_until = null where stage = 'drain';
alter table revisions
  drop column watch_ended_at,
  drop constraint revisions_stage_check,
  add constraint revisions_stage_check check (stage in ('queue', 'fetch', 'build', 'deploy', 'switch', 'verify'));
drop index revision_one_claim_of_a_deployment;
create unique index revision_one_claim_of_a_deployment on revisions (deployment_id) where lease_owner is not null;
