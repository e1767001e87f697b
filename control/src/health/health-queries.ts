/** The facts that decide about health, for statements about deployments and revisions. */
import { type Sql, sql } from "@superstep/toolkit/db/sql"

/**
 * A column `health_facts` with the `HealthFacts` of the units that serve. The statement calls the deployment `d`.
 * @param whose  which units, here called `u`
 */
export const healthFacts = (whose: Sql): Sql => sql`(
  select jsonb_build_object(
    'is_paused', d.desired_run_state = 'paused',
    'is_asleep', exists (select from sleeps s where s.deployment_id = d.deployment_id and not s.is_waking),
    'is_refused', exists (select from sleeps s where s.deployment_id = d.deployment_id and s.refused_until > superstep_now()),
    'units', coalesce(jsonb_agg(jsonb_build_object(
      'is_ready', u.is_ready, 'is_down', u.is_down, 'is_answering', u.is_answering,
      'crashes', u.crashes, 'worker_crashes', u.worker_crashes,
      'up_ms', (extract(epoch from superstep_now() - u.start_after) * 1000)::bigint,
      'is_outdated', u.restart_generation < d.restart_generation)), '[]'))
  from units u join revisions serving on serving.revision_id = u.revision_id and serving.role = 'serving'
  where ${whose}) as health_facts`
