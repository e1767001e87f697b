/** An app that is no Hono app. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === "/custom/echo") return new Response(await request.text(), { headers: { "x-from": "fetch" } })
    return new Response("nobody", { status: 404 })
  },
}
