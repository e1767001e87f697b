import assert from "node:assert/strict"
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { beforeEach, test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { listen } from "@superstep/toolkit/http/listen"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { exampleDeployment, exampleImage, shared, startApi, type TestApi } from "../testing/api.js"
import { readArchiveContent } from "./content.js"
import { removeFormerFiles, storeFormerFiles } from "./former-files.js"
import { findArchive, removeOldArchives } from "./operations.js"
import { insertPiece } from "./piece-queries.js"
import { signUpload } from "./signature.js"
import { maxArchiveBytes } from "./upload.js"

const sourceDeployment = (name = "shop-bot") => ({
  name,
  source: "internal_source",
  source_config: { deployment_type: "dev" },
  source_revision_config: {},
})

// One database for all tests, emptied before each, and a deployment without code.
const api = shared(() => startApi())
let id: string
beforeEach(async () => {
  await api.db.run(sql`delete from deployments`)
  await api.db.run(sql`delete from uploads`)
  id = (await create(api, sourceDeployment())).id
})

/** Everything that is stored of archives, as the text of each transfer. */
const stored = async ({ db }: TestApi): Promise<string[]> => {
  const rows = await db.rows<{ bytes: Buffer }>(sql`
    select string_agg(bytes, ''::bytea order by number) as bytes from upload_pieces
    group by upload_id, transfer_id order by min(stored_at)`)
  return rows.map(({ bytes }) => bytes.toString())
}

const countOf = async ({ db }: TestApi): Promise<number> =>
  (await db.row<{ pieces: number }>(sql`select count(*) as pieces from upload_pieces`))?.pieces ?? 0

async function create(api: TestApi, body: object) {
  const reply = await api.call("POST", "/v2/deployments", { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

async function offer(api: TestApi, id: string, prefix = ""): Promise<{ upload_url: string; object_path: string }> {
  const reply = await api.call("POST", `${prefix}/v2/deployments/${id}/upload-url`, {
    headers: { "content-length": "0" },
  })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

/** Uploads as the CLIs do: no key, their headers. */
const put = (api: TestApi, uploadUrl: string, text: string) => {
  const { pathname, search } = new URL(uploadUrl)
  const headers = {
    "x-api-key": "",
    "content-type": "application/gzip",
    "content-length": String(Buffer.byteLength(text)),
    "x-goog-content-length-range": `0,${maxArchiveBytes}`,
  }
  return api.call("PUT", `${pathname}${search}`, { text, headers })
}

const patch = (api: TestApi, id: string, path: string, call = api.call) =>
  call("PATCH", `/v2/deployments/${id}`, {
    body: {
      revision_source: "internal_source",
      source_revision_config: { source_tarball_path: path, langgraph_config_path: "apps/agent/langgraph.json" },
    },
  })

test("an archive is uploaded without a key, and a revision is created from it", async () => {
  const { upload_url, object_path } = await offer(api, id)
  const sent = await put(api, upload_url, "the archive")
  const patched = await patch(api, id, object_path)

  assert.equal(sent.status, 200, sent.text)
  assert.equal(sent.body.sha256, createHash("sha256").update("the archive").digest("hex"))
  assert.equal(patched.status, 200, patched.text)
  assert.ok(patched.body.latest_revision_id)
  assert.equal(patched.body.source_revision_config.source_tarball_path, object_path)
  assert.equal(patched.body.source_revision_config.repo_commit_sha, null)
  assert.deepEqual(await stored(api), ["the archive"])
  const { body: list } = await api.call("GET", `/v2/deployments/${id}/revisions`)
  assert.deepEqual([list.resources[0].upload.sha256, list.resources[0].upload.size_bytes], [sent.body.sha256, 11])
})

test("the upload address has the host that the client used, or that of the settings", async () => {
  await using configured = await startApi({ publicUrl: "https://agents.acme.test/api-host/" })
  const other = await create(configured, sourceDeployment())

  const direct = await offer(api, id)
  const below = await offer(api, id, "/api-host")
  const settled = await offer(configured, other.id)

  assert.ok(direct.upload_url.startsWith(`http://localhost/_uploads/${id}/`), direct.upload_url)
  assert.ok(below.upload_url.startsWith(`http://localhost/api-host/_uploads/${id}/`), below.upload_url)
  assert.ok(settled.upload_url.startsWith(`https://agents.acme.test/api-host/_uploads/${other.id}/`))
  assert.equal((await put(api, below.upload_url, "a")).status, 200)
})

test("an upload address works once (U1)", async () => {
  const { upload_url } = await offer(api, id)

  const both = await Promise.all([put(api, upload_url, "first"), put(api, upload_url, "other")])
  const later = await put(api, upload_url, "later")

  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
  assert.equal(later.status, 409)
  assert.equal(later.body.code, "already_uploaded")
  const [first, other] = both
  const winner = first?.status === 200 ? "first" : "other"
  assert.ok(other)
  assert.deepEqual(await stored(api), [winner], "nothing is left of the one that came second")
})

test("a changed, expired or invented address is refused (U1)", async () => {
  const { upload_url, object_path } = await offer(api, id)
  const other = await offer(api, id)
  const past = `http://localhost/_uploads/${object_path}?${signUpload(api.key, object_path, 1_700_000_000)}`
  const unknown = `${id}/${id}.tar.gz`
  const inTheFuture = Math.floor(Date.now() / 1000) + 60
  const cases: [string, number, string][] = [
    [upload_url.replace(/sig=.*/, "sig="), 403, "invalid_signature"],
    [upload_url.replace(/\?.*/, ""), 403, "invalid_signature"],
    [upload_url.replace(/exp=\d+/, "exp=99999999999"), 403, "invalid_signature"],
    [upload_url.replace(/exp=(\d+)/, "exp=$1.0"), 403, "invalid_signature"],
    [upload_url.replace(object_path, other.object_path), 403, "invalid_signature"],
    [upload_url.replace(object_path, `${id}/..%2F..%2Fx.tar.gz`), 403, "invalid_signature"],
    [past, 403, "upload_expired"],
    [`http://localhost/_uploads/${unknown}?${signUpload(api.key, unknown, inTheFuture)}`, 404, "not_found"],
  ]
  for (const [url, status, code] of cases) {
    const reply = await put(api, url, "x")

    assert.deepEqual([reply.status, reply.body.code], [status, code], url)
  }
  assert.equal(await countOf(api), 0)
})

test("an archive is valid only for its own deployment (U4)", async () => {
  const own = await create(api, sourceDeployment("own-other"))
  const foreign = await api.callAsOther("POST", "/v2/deployments", { body: sourceDeployment() })
  const { upload_url, object_path } = await offer(api, id)
  const unsent = await offer(api, id)
  await put(api, upload_url, "the archive")
  const foreignAddress = await api.callAsOther("POST", `/v2/deployments/${id}/upload-url`)

  const refused = [
    await patch(api, own.id, object_path),
    await patch(api, foreign.body.id, object_path, api.callAsOther),
    await patch(api, foreign.body.id, object_path.replace(id, foreign.body.id), api.callAsOther),
    await patch(api, id, unsent.object_path),
    await patch(api, id, `../${object_path}`),
    await patch(api, id, "uploads/other.tar.gz"),
    await api.call("POST", "/v2/deployments", {
      body: { ...sourceDeployment("made-of-it"), source_revision_config: { source_tarball_path: object_path } },
    }),
  ]

  assert.equal(foreignAddress.status, 404)
  for (const reply of refused) assert.deepEqual([reply.status, reply.body.code], [400, "unknown_upload"], reply.text)
  const { body: list } = await api.call("GET", `/v2/deployments/${id}/revisions`)
  assert.deepEqual(list.resources, [])
})

test("addresses exist only for deployments that are built from code and not being deleted", async () => {
  const github = await create(api, exampleDeployment("from-git"))
  const image = await create(api, exampleImage("image"))
  await api.call("DELETE", `/v2/deployments/${id}`)

  assert.ok((await offer(api, github.id)).upload_url)
  assert.equal((await api.call("POST", `/v2/deployments/${image.id}/upload-url`)).status, 400)
  assert.equal((await api.call("POST", `/v2/deployments/${id}/upload-url`)).status, 409)
  assert.equal((await api.call("POST", "/v2/deployments/nonsense/upload-url")).status, 422)
})

test("the number of unused archives is limited", async () => {
  const offered = []
  for (let n = 0; n < 10; n++) offered.push(await offer(api, id))

  const refused = await api.call("POST", `/v2/deployments/${id}/upload-url`)
  await put(api, offered[0]?.upload_url ?? "", "used")
  await patch(api, id, offered[0]?.object_path ?? "")
  const again = await api.call("POST", `/v2/deployments/${id}/upload-url`)

  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get("retry-after")) > 0)
  assert.equal(again.status, 200)
})

test("an archive is kept while a revision or deployment needs it, else for a day (U3)", async () => {
  const [used, unused, fresh] = [await offer(api, id), await offer(api, id), await offer(api, id)]
  await put(api, used.upload_url, "used")
  await put(api, unused.upload_url, "unused")
  await put(api, fresh.upload_url, "fresh")
  await patch(api, id, used.object_path)
  await api.db.run(sql`
    update uploads set stored_at = now() - interval '25 hours', used_at = used_at - interval '25 hours'
    where ${fresh.object_path} not like '%' || upload_id || '%'`)

  await removeOldArchives(api.db)
  const afterDay = await stored(api)
  const newer = await offer(api, id)
  await put(api, newer.upload_url, "newer")
  const deployNewer = async () => {
    await patch(api, id, newer.object_path)
    await api.db.run(sql`update revisions set stage = null, status = 'DEPLOYED'`)
    await api.db.run(sql`update uploads set used_at = now() - interval '25 hours' where used_at is not null`)
    await removeOldArchives(api.db)
  }
  await deployNewer()
  const afterOne = await stored(api)
  await deployNewer()
  await deployNewer()

  assert.deepEqual(afterDay, ["used", "fresh"])
  assert.deepEqual(afterOne, ["used", "fresh", "newer"], "one of the three newest revisions is made of it")
  assert.deepEqual(await stored(api), ["fresh", "newer"], "the three newest revisions are made of another one by now")
  assert.equal((await patch(api, id, unused.object_path)).status, 400)
})

test("what a killed process has received of an archive is deleted when its transfer must have ended (U3)", async () => {
  const { upload_url, object_path } = await offer(api, id)
  const uploadId = object_path.slice(37, 73)
  const piece = { uploadId, transferId: randomUUID(), number: 0, bytes: Buffer.from("of a killed process") }
  await insertPiece(api.db, piece)
  await put(api, upload_url, "whole")

  await removeOldArchives(api.db)
  const soon = await stored(api)
  await api.db.run(sql`update upload_pieces set stored_at = now() - interval '61 minutes'`)
  await removeOldArchives(api.db)

  assert.deepEqual(soon, ["of a killed process", "whole"])
  assert.deepEqual(await stored(api), ["whole"])
})

test("an archive of many pieces is read as it was sent, by any process", async () => {
  const bytes = randomBytes(3_000_000)
  const listening = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  const { upload_url, object_path } = await offer(api, id)
  const { pathname, search } = new URL(upload_url)
  const sent = await fetch(`http://127.0.0.1:${listening.port}${pathname}${search}`, { method: "PUT", body: bytes })
  await listening.close(0)
  await using other = openDatabase({ uri: api.db.uri, log: silent })

  const upload = await findArchive(other, id, object_path)
  assert.ok(upload?.transfer_id)
  const pieces: Buffer[] = []
  for await (const piece of readArchiveContent(other, { uploadId: upload.upload_id, transferId: upload.transfer_id })) {
    pieces.push(piece)
  }

  assert.equal(sent.status, 200)
  assert.ok(pieces.length > 1)
  assert.ok(Buffer.concat(pieces).equals(bytes))
  assert.equal(upload.size_bytes, bytes.length)
})

test("a deployment that is deleted takes its archives with it, also one that arrives meanwhile", async (t) => {
  await put(api, (await offer(api, id)).upload_url, "complete")
  const listening = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  t.after(() => listening.close(0))
  const { pathname, search } = new URL((await offer(api, id)).upload_url)
  const piece = randomBytes(1_000_000)
  const body = async function* () {
    yield piece
    await until(async () => (await countOf(api)) > 1, { what: "a piece has arrived" })
    await api.db.run(sql`delete from deployments where deployment_id = ${id}`)
    yield piece
  }
  const sent = await fetch(`http://127.0.0.1:${listening.port}${pathname}${search}`, {
    method: "PUT",
    body: ReadableStream.from(body()),
    duplex: "half",
  } as RequestInit)

  assert.equal(sent.status, 404)
  assert.equal(await countOf(api), 0)
})

test("files of a former release are stored once, and removed only when the start has succeeded", async () => {
  const folder = temporaryFolder()
  const [kept, removed] = [await offer(api, id), await offer(api, id)]
  const fileOf = ({ object_path }: { object_path: string }) => join(folder, object_path.slice(37))
  for (const it of [kept, removed]) {
    await put(api, it.upload_url, "x")
    writeFileSync(fileOf(it), "the archive")
  }
  writeFileSync(join(folder, `${randomUUID()}.${randomUUID()}.partial`), "x")
  writeFileSync(join(folder, `${randomUUID()}.tar.gz`), "its row is gone")
  await api.db.run(sql`delete from upload_pieces`)
  await api.db.run(sql`update uploads set transfer_id = null`)
  await api.db.run(sql`update uploads set removed_at = now() where ${removed.object_path} like '%' || upload_id || '%'`)

  await storeFormerFiles(api.db, folder)
  await storeFormerFiles(api.db, folder)
  const afterStart = await stored(api)
  const files = readdirSync(folder)
  await removeFormerFiles(folder)
  await storeFormerFiles(api.db, join(folder, "missing"))

  assert.deepEqual(afterStart, ["the archive"])
  assert.equal(files.length, 4)
  assert.deepEqual(readdirSync(folder), [])
  const upload = await findArchive(api.db, id, kept.object_path)
  const [row] = await api.db.rows<{ transfer_id: string }>(sql`select transfer_id from upload_pieces`)
  assert.equal(upload?.transfer_id, row?.transfer_id)
})

test("over a real socket: a too large archive is 413, and an interrupted upload may be repeated (U2)", async (t) => {
  const listening = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  t.after(() => listening.close(0))
  const open = async (headers: Record<string, string>) => {
    const { upload_url } = await offer(api, id)
    const { pathname, search } = new URL(upload_url)
    const path = `${pathname}${search}`
    return { path, sending: request({ port: listening.port, host: "127.0.0.1", method: "PUT", path, headers }) }
  }
  const statusOf = (sending: ReturnType<typeof request>) =>
    new Promise<number | undefined>((resolve, reject) => {
      sending.on("response", (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sending.on("error", reject)
    })

  const declared = await open({ "content-length": String(maxArchiveBytes + 1) })
  const declaredStatus = statusOf(declared.sending)
  declared.sending.flushHeaders()
  assert.equal(await declaredStatus, 413)
  declared.sending.destroy()

  const broken = await open({ "content-length": "1000000" })
  // This test is about to cut it.
  broken.sending.on("error", () => undefined)
  broken.sending.write(randomBytes(1000))
  await new Promise((resolve) => setImmediate(resolve))
  broken.sending.destroy()
  const again = await fetch(`http://127.0.0.1:${listening.port}${broken.path}`, { method: "PUT", body: "whole" })
  assert.equal(again.status, 200)

  const before = process.memoryUsage().rss
  const streamed = await open({})
  streamed.sending.setMaxListeners(0)
  const streamedStatus = statusOf(streamed.sending).catch((error: NodeJS.ErrnoException) => error.code)
  const chunk = randomBytes(4 * 1024 * 1024)
  for (let sent = 0; sent <= maxArchiveBytes && !streamed.sending.destroyed; sent += chunk.length) {
    if (!streamed.sending.write(chunk)) {
      await new Promise<void>((resolve) => {
        for (const event of ["drain", "close", "response"]) streamed.sending.once(event, () => resolve())
      })
    }
  }
  assert.equal(await streamedStatus, 413)
  assert.ok(process.memoryUsage().rss - before < 150 * 1024 * 1024, "the archive was held in memory")
  assert.deepEqual(await stored(api), ["whole"], "nothing is left of transfers that have failed")
})
