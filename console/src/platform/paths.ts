/** The paths of the control plane that several pages read or write. Pure. */
import { requestPath } from "../requests/request-path.js"

/** How many items a page of a list has at most. */
export const mostInPage = 100

/** How many revisions are read at a time: each page of a deployment reads the newest ones. */
export const revisionsInPage = 50

/** The address of a page of a list. */
export const pagePath = (list: string, offset = 0): string =>
  `${list}?limit=${mostInPage}${offset === 0 ? "" : `&offset=${offset}`}`

export const paths = {
  members: "/v2/members",
  invitations: "/v2/invitations",
  sessions: "/v2/console/sessions",
  keys: "/v2/api-keys",
  integrations: "/v2/integrations/git",
  deployments: "/v2/deployments",
  deployment: (id: string) => requestPath`/v2/deployments/${id}`,
  revisions: (id: string, limit = revisionsInPage, offset = 0) =>
    `${requestPath`/v2/deployments/${id}/revisions`}?limit=${limit}${offset === 0 ? "" : `&offset=${offset}`}`,
  revision: (id: string, revisionId: string) => requestPath`/v2/deployments/${id}/revisions/${revisionId}`,
  metrics: (id: string, window = "1h") => requestPath`/v2/deployments/${id}/metrics?window=${window}`,
}
