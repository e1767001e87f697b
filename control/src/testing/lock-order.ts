/**
 * Lock order: a deployment, then its revisions (`lockRoles`). Two transactions that lock in opposite orders deadlock, which a test meets only by
 * chance. So this rule refuses each single one that changes or has locked a revision and locks its deployment only afterwards, be it by a
 * foreign key.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Adds the rule to a migrated database. May be called again. */
export async function keepLockOrder(db: Db): Promise<void> {
  if (await db.row(sql`select from pg_proc where proname = 'check_lock_order'`)) return
  // A row that this transaction has written or locked, if no other transaction shares the lock.
  const isOurs = sql`pg_current_xact_id()::xid in (xmin, xmax)`
  const holdsDeployment = sql`exists (select from deployments where deployment_id = new.deployment_id and ${isOurs})`
  const holdsRevision = sql`exists (select from revisions where revision_id = new.revision_id and ${isOurs})`
  await db.run(sql`
    create function note_lock() returns trigger language plpgsql as $$ begin
      if not ${holdsDeployment} and (tg_table_name = 'revisions' or ${holdsRevision}) then
        perform set_config('superstep.lock_without_deployment', new.deployment_id::text, true);
      end if;
      return new;
    end $$`)
  await db.run(sql`
    create function check_lock_order() returns trigger language plpgsql as $$ begin
      if new.deployment_id::text = current_setting('superstep.lock_without_deployment', true) and ${holdsDeployment} then
        raise 'lock order: a deployment was locked after one of its revisions';
      end if;
      return null;
    end $$`)
  await db.run(sql`create trigger lock_is_noted before update on revisions for each row execute function note_lock()`)
  await db.run(sql`create trigger lock_is_noted before insert on units for each row execute function note_lock()`)
  for (const table of [sql`revisions`, sql`units`]) {
    await db.run(sql`
      create constraint trigger lock_order_is_kept after insert or update on ${table} initially deferred
      for each row execute function check_lock_order()`)
  }
}
