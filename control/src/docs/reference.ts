/** Routes about the API and the process that need no key: `/health`, `/openapi.json` and a page to read. */
import type { Db } from "@superstep/toolkit/db/database"
import { pingDatabase } from "@superstep/toolkit/db/ping"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { referencePage } from "@superstep/toolkit/http/reference-page"
import type { Api } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { whyBackupLate } from "../backups/late.js"
import { backupState } from "../backups/queries.js"
import { forwardingState } from "../log-forwarding/queries.js"
import { whyForwardingStuck } from "../log-forwarding/stuck.js"
import { whyStuck } from "../revisions/progress.js"
import { pipelineProgress } from "../revisions/progress-queries.js"
import { openApiDocument } from "./document.js"
import { referencePath } from "./routes.js"

/**
 * Adds them; call it after all routes that the document lists. The document is created at its first request: that takes as
 * long as the rest of a start.
 * @param isStarting  while it returns true, `/health` answers 503: agents are not supervised yet
 * @param upMs        how long the pipeline has been running, in milliseconds
 * @param failing     what the work in the background fails at, in words
 */
export function addReference(
  api: Api,
  {
    db,
    isStarting,
    upMs,
    failing,
  }: { db: Db; isStarting: () => boolean; upMs: () => number; failing: () => Promise<readonly string[]> },
): void {
  const document = once(() => openApiDocument(api))
  const page = once(() => referencePage(document() as never))
  const pageBelowDocs = once(() => referencePage(document() as never, "../openapi.json"))

  api.get("/health", async (c) => {
    if (isStarting()) throw new Unavailable("the control plane is starting: try again in a moment", 1000)
    await pingDatabase(db)
    const stuck = whyStuck(await pipelineProgress(db), upMs())
    if (stuck !== undefined) throw new Unavailable(stuck, 60_000)
    const warnings = [...(await failing()), ...(await healthWarnings(db))]
    return c.json({ status: "ok", ...(warnings.length > 0 && { warnings }) })
  })
  api.get("/openapi.json", (c) => c.json(document()))
  // The original has its reference at /docs and /redoc below /api-host (control-plane §1.1); at the root, /docs is the documentation.
  for (const path of ["/docs", "/redoc"]) api.get(path, (c) => sendPage(c, page()))
  api.get(referencePath, (c) => sendPage(c, pageBelowDocs()))
}

/** Problems that a restart of the control plane does not solve: they leave it healthy, since agents and the API work. */
async function healthWarnings(db: Db): Promise<string[]> {
  const [forwarding, backups] = await Promise.all([forwardingState(db), backupState(db)])
  return [whyForwardingStuck(forwarding), whyBackupLate(backups)].filter((warning) => warning !== undefined)
}

/** @returns  a function that calls `make` once and then returns its result */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const sendPage = (c: Context, page: string): Response =>
  c.html(page, 200, { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" })
