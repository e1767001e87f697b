/** What each kind of page shows that the API must also say. */
import type { Page } from "playwright-core"
import type { Platform } from "../../testing/installation.js"
import { inSection, rows, together } from "./lines.js"

export interface Truth {
  /** Of the path and the search of an address. */
  readonly on: RegExp
  /** Runs in the page: the lines that it shows; null when it shows another part. */
  readonly shown: string
  /** The same lines, of the API. @throws Refused */
  readonly said: (ids: readonly string[]) => Promise<readonly string[]>
  /** The page has only the rows in view: none of them may be wrong. */
  readonly isPart?: boolean
}

/** The API answered with another status than 2xx. */
export class Refused extends Error {}

/** The lines that a page shows. */
export const linesOf = (page: Page, { shown }: Truth): Promise<readonly string[] | null> =>
  page.evaluate<string[] | null>(shown)

interface Deployment {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly health: string | null
  readonly run_state: string
  readonly active_revision_id: string | null
  readonly source_config: { readonly custom_url: string }
}

interface Revision {
  readonly id: string
  readonly status: string
  readonly health: string | null
  readonly traffic: object | null
  readonly error_code: string | null
}

interface ListedRun {
  readonly run_id: string
  readonly status: string
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function wordOf({ health, status }: Deployment): string {
  if (health !== null) return capital(health)
  return { AWAITING_DELETE: "Being deleted", AWAITING_DATABASE: "Preparing" }[status] ?? "Not deployed"
}

const unserved: Readonly<Record<string, string>> = {
  CREATING: "Creating",
  QUEUED: "Queued",
  AWAITING_BUILD: "Fetching",
  BUILDING: "Building",
  AWAITING_DEPLOY: "Built",
  DEPLOYING: "Deploying",
  CREATE_FAILED: "Not created",
  BUILD_FAILED: "Build failed",
  DEPLOY_FAILED: "Deploy failed",
  SKIPPED: "Skipped",
  INTERRUPTED: "Interrupted",
}

function revisionWord({ id, status, health, traffic, error_code }: Revision, active: string | null): string {
  if (status !== "DEPLOYED") return unserved[status] ?? status
  if ((id === active || traffic !== null) && (health === "crashing" || health === "down")) return capital(health)
  if (id === active) return "Serving"
  if (traffic !== null) return "Canary"
  if (error_code !== null) return error_code === "crash_loop" ? "Crashed" : "Withdrawn"
  return "Deployed before"
}

/** What the API says, as JSON. */
function readerOf(platform: Platform) {
  // As the key with which the walk is signed in: its sessions are among those that it sees.
  const headers = { "x-api-key": platform.credentials.org_api_key }
  async function api<T>(path: string): Promise<T> {
    const { status, body } = await platform.api<T>("GET", path, undefined, headers)
    if (status !== 200) throw new Refused(`${path}: ${status}`)
    return body
  }
  async function agent<T>(id: string, path: string, body?: object): Promise<T> {
    const { custom_url: url } = (await api<Deployment>(`/v2/deployments/${id}`)).source_config
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
    const ours = { "content-type": "application/json", "x-api-key": platform.credentials.api_key }
    const reply = await fetch(url + path, { ...init, headers: ours })
    if (!reply.ok) throw new Refused(`${path}: ${reply.status}`)
    return (await reply.json()) as T
  }
  const listed = async <T>(path: string): Promise<readonly T[]> => (await api<{ resources: T[] }>(path)).resources
  return { api, agent, listed }
}

type Reader = ReturnType<typeof readerOf>

export const truthsOf = (platform: Platform): readonly Truth[] => {
  const reader = readerOf(platform)
  return [...truthsOfDeployments(reader), ...truthsOfWorkspace(reader), ...truthsOfAgents(reader)]
}

function truthsOfDeployments({ api, listed }: Reader): readonly Truth[] {
  const revisionsOf = (id: string, limit = 50) => listed<Revision>(`/v2/deployments/${id}/revisions?limit=${limit}`)
  return [
    {
      on: /^\/$/,
      shown: rows(
        ".deployments tbody tr",
        ".deployments-name",
        "td:nth-child(2) .badge",
        ".deployments-revision .badge",
      ),
      said: async () => {
        const deployments = await listed<Deployment>("/v2/deployments?limit=100")
        return Promise.all(
          deployments.map(async (one) => {
            const [newest] = await revisionsOf(one.id, 1)
            const word = newest ? revisionWord(newest, one.active_revision_id) : "nothing"
            return `${one.name} | ${wordOf(one)} | ${word}`
          }),
        )
      },
    },
    {
      on: /^\/deployments\/([\w-]+)(?:\?|$)/,
      shown: together(
        rows(".overview-facts", ".badge"),
        rows(".timeline-item", ".timeline-message@href", ".badge"),
        `[...document.querySelectorAll(".page-actions button")].map((one) => one.textContent).filter((text) => /^(Pause|Resume)$/.test(text))`,
      ),
      said: async ([id = ""]) => {
        const [deployment, revisions] = [await api<Deployment>(`/v2/deployments/${id}`), await revisionsOf(id)]
        const active = deployment.active_revision_id
        return [
          wordOf(deployment),
          ...revisions
            .filter((one, place) => place === 0 || one.id === active)
            .map((one) => `${one.id} | ${revisionWord(one, active)}`),
          deployment.run_state === "paused" ? "Resume" : "Pause",
        ]
      },
    },
    {
      on: /^\/deployments\/([\w-]+)\/revisions(?:\?|$)/,
      shown: rows(".timeline-item", ".timeline-message@href", ".badge"),
      said: async ([id = ""]) => {
        const { active_revision_id: active } = await api<Deployment>(`/v2/deployments/${id}`)
        return (await revisionsOf(id)).map((one) => `${one.id} | ${revisionWord(one, active)}`)
      },
    },
    {
      on: /^\/deployments\/([\w-]+)\/revisions\/([\w-]+)(?:\?|$)/,
      shown: rows(".build-log-head", ".badge"),
      said: async ([id = "", revision = ""]) => {
        const { active_revision_id: active } = await api<Deployment>(`/v2/deployments/${id}`)
        return [revisionWord(await api<Revision>(`/v2/deployments/${id}/revisions/${revision}`), active)]
      },
    },
    {
      // The lines in view: the API's newest hundred has the end of the log.
      on: /^\/deployments\/([\w-]+)\/logs$/,
      shown: `(() => {
        const box = document.querySelector(".log-lines")
        const isAtEnd = box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < 40
        return isAtEnd ? ${rows(".log-row:last-child time", "@datetime")} : null
      })()`,
      said: async ([id = ""]) => {
        const query = new URLSearchParams({
          deployment_id: id,
          page_size: "100",
          sort_order: "desc",
          hide_platform: "true",
        })
        return (await api<{ items: { timestamp: string }[] }>(`/v2/deployment-logs?${query}`)).items.map(
          ({ timestamp }) => timestamp,
        )
      },
      isPart: true,
    },
    {
      on: /^\/deployments\/([\w-]+)\/settings$/,
      shown: inSection("Secrets", "td code"),
      said: async ([id = ""]) =>
        (await listed<{ name: string }>(`/v2/deployments/${id}/secrets`)).map(({ name }) => `Secrets: ${name}`),
    },
  ]
}

/** As many as the page reads at first. */
const auditEntries = 20

function truthsOfWorkspace({ api, listed, agent }: Reader): readonly Truth[] {
  return [
    {
      on: /^\/settings$/,
      shown: together(
        // Of a member the second is the address and the third the role; of an invitation the first has the address.
        `${inSection("People", "td:first-child", "td:first-child .soft", "select#value")}.map((line) => line.replace(/^(People: )(.*) \\| nothing \\| nothing$/, "$1$2").replace(/^(People: ).* \\| (.*) \\| (.*)$/, "$1$2 $3"))`,
        inSection("Sessions", "td:nth-child(3) time@datetime"),
        inSection("API keys", "td:nth-child(2)", "td:last-child"),
        inSection("Git integrations", "td:first-child", "td:nth-child(2)"),
      ),
      said: async () => [
        ...(await listed<{ email: string; role: string }>("/v2/members?limit=100")).map(
          ({ email, role }) => `People: ${email} ${role}`,
        ),
        ...(await listed<{ email: string }>("/v2/invitations?limit=100")).map(
          ({ email }) => `People: ${email} invited`,
        ),
        ...(await listed<{ created_at: string }>("/v2/console/sessions?limit=100")).map(
          ({ created_at }) => `Sessions: ${created_at}`,
        ),
        ...(await listed<{ prefix: string; revoked_at: string | null }>("/v2/api-keys?limit=100")).map(
          ({ prefix, revoked_at }) => `API keys: ${prefix}… | ${revoked_at === null ? "Revoke" : "Revoked"}`,
        ),
        ...(await listed<{ name: string; host: string }>("/v2/integrations/git")).map(
          ({ name, host }) => `Git integrations: ${name} | ${host}`,
        ),
      ],
    },
    {
      on: /^\/settings$/,
      // With older entries on the page its newest ones stay as they are.
      shown: `((lines) => lines.length > ${auditEntries} ? null : lines)(${inSection("Audit log", "td:nth-child(3) code")})`,
      said: async () =>
        (await listed<{ action: string }>(`/v2/audit-log?limit=${auditEntries}`)).map(
          ({ action }) => `Audit log: ${action}`,
        ),
    },
    {
      on: /^\/system$/,
      shown: `${rows(".meter", "label, .react-aria-Label, span", ".meter-value")}.filter((line) => /^(Deployments|Processes|Builds at once|Host names) /.test(line))`,
      said: async () => {
        const quotas = await api<Record<string, { used: number; limit: number }>>("/v2/quotas")
        const names = {
          deployments: "Deployments",
          units: "Processes",
          builds: "Builds at once",
          host_names: "Host names",
        }
        return Object.entries(names).flatMap(([quota, name]) => {
          const one = quotas[quota]
          return one ? [`${name} | ${one.used.toLocaleString("en")} of ${one.limit.toLocaleString("en")}`] : []
        })
      },
    },
    {
      on: /^\/runs$/,
      shown: rows(".runs-link", "@href", ".badge"),
      said: async () => {
        const deployments = await listed<Deployment>("/v2/deployments?limit=100")
        const asked = deployments.filter(
          ({ status, run_state, active_revision_id: active }) =>
            status === "READY" && run_state === "running" && active !== null,
        )
        return (await Promise.all(asked.map(({ id }) => runsOf(agent, id)))).flat()
      },
      isPart: true,
    },
    {
      on: /^\/approvals$/,
      shown: `${rows(".approvals-agent", "h2")}.map((name, at) => name + " | " + document.querySelectorAll(".approvals-agent")[at].querySelectorAll(".approvals-row").length)`,
      said: async () => {
        const ready = (await listed<Deployment>("/v2/deployments?limit=100")).filter(({ status }) => status === "READY")
        return Promise.all(
          ready.map(async ({ id, name, run_state }) => {
            const questions = run_state === "running" ? await questionsOf(agent, id) : 0
            return `${name} | ${questions}`
          }),
        )
      },
    },
  ]
}

const runsOf = async (agent: Reader["agent"], id: string): Promise<string[]> =>
  (await agent<{ runs: ListedRun[] }>(id, "/runs/search", { limit: 1000, select: ["run_id", "status"] })).runs.map(
    ({ run_id, status }) => `${run_id} | ${status}`,
  )

async function questionsOf(agent: Reader["agent"], id: string): Promise<number> {
  const waiting = await agent<{ interrupts: Record<string, unknown[]> }[]>(id, "/threads/search", {
    status: "interrupted",
    limit: 200,
  })
  return waiting.flatMap(({ interrupts }) => Object.values(interrupts).flat()).length
}

function truthsOfAgents({ agent }: Reader): readonly Truth[] {
  const ofAgent = (path: string) => new RegExp(String.raw`^/deployments/([\w-]+)/agent/${path}`)
  return [
    {
      on: ofAgent("threads$"),
      shown: rows(".filters-found", ""),
      said: async ([id = ""]) => {
        const count = await agent<number>(id, "/threads/count", {})
        return [`${count} ${count === 1 ? "thread" : "threads"}`]
      },
    },
    {
      on: ofAgent("threads$"),
      shown: rows("a.threads-row", "@href", ".thread-status"),
      said: async ([id = ""]) =>
        (
          await agent<{ thread_id: string; status: string }[]>(id, "/threads/search", {
            limit: 1000,
            select: ["thread_id", "status"],
          })
        ).map(({ thread_id, status }) => `${thread_id} | ${status}`),
      isPart: true,
    },
    {
      on: ofAgent(String.raw`threads/([\w-]+)(?:\?|$)`),
      shown: rows(".page-head .thread-status", ""),
      said: async ([id = "", thread = ""]) => [(await agent<{ status: string }>(id, `/threads/${thread}`)).status],
    },
    {
      on: ofAgent(String.raw`threads/([\w-]+)/runs/([\w-]+)(?:\?|$)`),
      shown: rows(".run-facts", ".badge"),
      said: async ([id = "", thread = "", run = ""]) => [
        (await agent<{ status: string }>(id, `/threads/${thread}/runs/${run}`)).status,
      ],
    },
    {
      on: ofAgent(String.raw`approvals(?:\?|$)`),
      shown: `[String(document.querySelectorAll(".approvals-row").length)]`,
      said: async ([id = ""]) => [String(await questionsOf(agent, id))],
    },
    {
      on: ofAgent("runs$"),
      shown: rows(".runs-link", "@href", ".badge"),
      said: async ([id = ""]) => runsOf(agent, id),
      isPart: true,
    },
    {
      on: ofAgent("queue$"),
      shown: rows(".queue-runs > h2", ""),
      said: async ([id = ""]) => {
        const count = async (status: string) =>
          (await agent<unknown[]>(id, `/queue?status=${status}&limit=1000`)).length
        const [waiting, executing] = [await count("pending"), await count("running")]
        return [...(waiting > 0 ? [`${waiting} waiting`] : []), ...(executing > 0 ? [`${executing} executing`] : [])]
      },
    },
    {
      on: ofAgent("crons$"),
      shown: rows("main tbody tr", "code", "input#checked"),
      said: async ([id = ""]) =>
        (await agent<{ schedule: string; enabled: boolean }[]>(id, "/runs/crons/search", { limit: 1000 })).map(
          ({ schedule, enabled }) => `${schedule} | ${enabled}`,
        ),
    },
    {
      on: ofAgent(String.raw`assistants(?:\?|$)`),
      shown: rows(".assistants-list .pick", ".pick-name", ".note"),
      said: async ([id = ""]) =>
        (
          await agent<{ name: string; graph_id: string; version: number }[]>(id, "/assistants/search", { limit: 1000 })
        ).map(({ name, graph_id, version }) => `${name} | ${graph_id} · version ${version}`),
    },
    {
      on: ofAgent("store$"),
      shown: rows(".store-list .pick-name", ""),
      said: async ([id = ""]) =>
        (
          await agent<{ items: { key: string }[] }>(id, "/store/items/search", { namespace_prefix: [], limit: 500 })
        ).items.map(({ key }) => key),
    },
  ]
}
