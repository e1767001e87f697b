/** What a control plane answers while another one is in charge. */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { errorHandler } from "@superstep/toolkit/http/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { Hono } from "hono"

/**
 * Nothing succeeds, so that a load balancer sends its requests to the one in charge. Only `/health?standbyok=true` does, the parameter of HashiCorp
 * Vault for whoever asks whether the process is well.
 */
export function standbyApp(log: Log): Hono {
  const app = new Hono()
  app.onError(errorHandler({ log, detail: "list" }))
  app.get("/health", (c) => c.json({ status: "standby" }, c.req.query("standbyok") === "true" ? 200 : 503))
  app.all("*", () => {
    throw new Unavailable("this control plane stands by, and another one is in charge: try again in a moment", 1000)
  })
  return app
}
