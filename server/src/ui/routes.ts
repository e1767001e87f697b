/** Routes of generative UI (agent-server-api §15). */
import { NotFound } from "@superstep/toolkit/errors/errors"
import { longAnswer, longJson } from "@superstep/toolkit/http/long-answer"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import type { UiBundles } from "./bundles.js"
import { type Address, componentName, renderComponent, typeOf } from "./page.js"

const tags = ["UI"]

export interface UiRoutes {
  readonly ui: Pick<UiBundles, "of">
  /** Whether requests come through the edge. Only then forwarded headers are trusted. */
  readonly isBehindEdge: boolean
  readonly mountPrefix: string
}

export function addUiRoutes(api: Api, { ui: bundles, ...where }: UiRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/ui/{agent}",
    summary: "Get the HTML that loads a UI component",
    lasts: "long",
    tags,
    params: z.object({ agent: z.string() }),
    body: z.object({ name: componentName }),
    responses: {
      200: { description: "HTML that loads the component", schema: z.string(), contentType: "text/html" },
      404: { description: "The agent has no components" },
    },
    handle: async ({ c, params: { agent }, body: { name } }) => {
      const bundle = await bundles.of(agent)
      if (!bundle) throw new NotFound(`UI not found for agent "${agent}"`)
      return c.html(renderComponent(agent, name, bundle.keys(), addressOf(c, where)))
    },
  })
  addRoute(api, {
    method: "get",
    path: "/ui/{agent}/{file}",
    summary: "Get a file of an agent's UI components",
    lasts: "stream",
    tags,
    params: z.object({ agent: z.string(), file: z.string() }),
    responses: { 200: { description: "The file" }, 404: { description: "No such file" } },
    handle: ({ c, params: { agent, file } }) => {
      const type = typeOf(file)
      const read = async () => {
        const contents = (await bundles.of(agent))?.get(file)
        if (!contents) throw new NotFound("File not found")
        return new Response(new Uint8Array(contents), { headers: { "content-type": type } })
      }
      // The first build may last. White space may precede scripts and styles, but not an image.
      return /javascript|^text\//.test(type) ? longAnswer(c, read, { ...longJson, type }) : read()
    },
  })
}

function addressOf(c: Context, { isBehindEdge, mountPrefix }: Omit<UiRoutes, "ui">): Address {
  const forwarded = (name: string) => (isBehindEdge ? c.req.header(`x-forwarded-${name}`) : undefined)
  const host = forwarded("host") ?? c.req.header("host") ?? new URL(c.req.url).host
  return { host, protocol: forwarded("proto"), prefix: `${forwarded("prefix") ?? ""}${mountPrefix}` }
}
