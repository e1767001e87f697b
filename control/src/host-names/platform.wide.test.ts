/** Host names on a whole platform: control plane, edge and authority as real processes and servers. */
import assert from "node:assert/strict"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { until } from "@superstep/toolkit/testing/until"
import { hostName, namedPlatform } from "./testing/named-platform.js"
import { startPebble, withoutPebble } from "./testing/pebble.js"
import { startTestAuthority } from "./testing/test-authority.js"

const skip = withoutOpenssl()

test("a deployment gets a host name and callers trust its certificate, until the name is removed", {
  skip,
}, async () => {
  await using it = await namedPlatform(startTestAuthority)
  const { platform, path, askByName } = it
  const added = await it.addName()

  const answered = await it.untilServed()
  const folder = join(platform.home, "edge", "certificates")
  const [file = "", ...more] = readdirSync(folder)
  const modes = [folder, join(folder, file)].map((it) => statSync(it).mode & 0o007)
  await platform.call("DELETE", `${path}/${hostName}`)
  const fails = () =>
    askByName().then(
      () => undefined,
      (error: { code: string }) => error.code,
    )
  const code = await until(fails, { what: "callers get the operator's certificate again" })
  await until(() => readdirSync(folder).length === 0, { what: "the file is removed" })

  assert.deepEqual([added.status, added.body.status, added.body.url], [201, "pending", `https://${hostName}`])
  assert.equal(answered.status, 200)
  assert.deepEqual([more, modes], [[], [0, 0]], "one file, and others cannot read it")
  assert.match(code, /SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/)
})

test("an edge that restarts serves the name at once, also while the control plane is dead", { skip }, async () => {
  await using it = await namedPlatform(startTestAuthority)
  const { platform, env } = it
  await it.addName()
  await it.untilServed()
  const pidOfEdge = () => JSON.parse(readFileSync(join(platform.home, "edge", "pid.json"), "utf8")).pid as number

  const former = pidOfEdge()
  process.kill(former, "SIGKILL")
  await until(() => pidOfEdge() !== former, { what: "another edge runs" })
  const answered = await it.untilServed()
  const second = pidOfEdge()
  await platform.kill()
  const alone = await it.askByName()
  await platform.start({ ...env, LOG_LEVEL: "info" })
  await until(() => pidOfEdge() !== second, { what: "an edge with other settings runs" })
  const succeeded = await it.untilServed()

  assert.deepEqual([answered.status, alone.status, succeeded.status], [200, 200, 200])
})

for (const point of ["certificate:after-challenge", "certificate:after-order"]) {
  test(`a control plane that is killed at ${point} gets the certificate after its restart`, {
    skip,
  }, async () => {
    await using it = await namedPlatform(startTestAuthority, { SUPERSTEP_CRASH_AT: point })
    const { platform, authority, env } = it
    await it.addName()
    await platform.untilDead()
    // The claim of the killed process ends.
    await platform.db.run(sql`update host_names set next_try_at = now()`)

    await platform.start(env)
    const answered = await it.untilServed()

    assert.equal(answered.status, 200)
    assert.equal(authority.accounts.length, 1)
    const left = await platform.db.row<{ n: number }>(sql`select count(*) as n from acme_challenges`)
    assert.equal(left?.n, 0)
  })
}

test("Let's Encrypt's own test server issues a certificate, and renews it", {
  skip: skip || withoutPebble(),
}, async () => {
  await using it = await namedPlatform(startPebble)
  const { platform, readName } = it
  await it.addName()
  const answered = await it.untilServed()
  const first = await readName()

  const renew = sql`update host_names set next_try_at = now(), valid_until = now() + interval '1 day'`
  await platform.db.run(renew)
  await platform.db.run(sql`select pg_notify('superstep_host_names', '')`)
  await until(async () => (await readName()).next_try_at >= first.next_try_at, { what: "it is renewed" })
  const again = await it.untilServed()

  assert.deepEqual([answered.status, again.status, (await readName()).failure], [200, 200, null])
})
