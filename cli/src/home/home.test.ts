import assert from "node:assert/strict"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { readCredentials } from "./credentials.js"
import { HomeNotWritable, HomeOfAnotherUser, homeAt, openHome } from "./home.js"

const skip = process.geteuid?.() === 0 ? false : "only root can act as another user"
const someone = 65_534

/** Does something as a user without rights. */
async function asSomeone<T>(work: () => Promise<T>): Promise<T> {
  process.seteuid?.(someone)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

/** A data folder as `superstep up` leaves it. */
function usedHome(): string {
  const folder = join(temporaryFolder(), "home")
  mkdirSync(join(folder, "logs"), { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, "credentials.json"), "{}", { mode: 0o600 })
  return folder
}

test("a data folder of root causes an error with its owner and what to do", { skip }, async () => {
  const folder = usedHome()
  const isTold = (error: unknown) =>
    error instanceof HomeOfAnotherUser && /belongs to root.*as root \(sudo\).*chown -R.*--home/.test(error.message)

  await assert.rejects(
    asSomeone(() => openHome(folder)),
    isTold,
  )
  await assert.rejects(
    asSomeone(() => readCredentials(homeAt(folder))),
    isTold,
  )
})

test("an unwritable folder, and one that cannot be created, are errors", {
  skip,
}, async () => {
  const folder = usedHome()
  for (const path of [folder, join(folder, "logs")]) chownSync(path, someone, someone)
  chmodSync(join(folder, "logs"), 0o500)
  const closed = temporaryFolder()
  chmodSync(closed, 0o700)

  for (const path of [folder, join(closed, "home")]) {
    await assert.rejects(
      asSomeone(() => openHome(path)),
      (error: unknown) => error instanceof HomeNotWritable && error.message.includes("--home"),
    )
  }
})

test("a usable data folder can be opened repeatedly", async () => {
  const folder = join(temporaryFolder(), "home")

  await openHome(folder)

  assert.equal((await openHome(folder)).folder, folder)
  assert.equal(await readCredentials(homeAt(folder)), undefined)
})
