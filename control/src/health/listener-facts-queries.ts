/** The facts about a listener, for statements about deployments and revisions. */
import { sql } from "@superstep/toolkit/db/sql"

/** A column `listener` with the `ListenerFacts` of a deployment; null when it has no listener. The statement calls the deployment `d`. */
export const listenerFacts = sql`(
  select jsonb_build_object('compute_id', l.compute_id, 'last_seen_at', to_char(l.last_seen_at at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'is_silent', coalesce(l.last_seen_at < now() - interval '2 minutes', true), 'url', p.url, 'health', p.health,
    'run_state', p.run_state, 'is_restarting', coalesce(p.is_restarting, false), 'problem', p.problem)
  from listeners l left join listener_reports p on p.deployment_id = d.deployment_id
  where l.listener_id = d.listener_id) as listener`
