/** How the pages keep what they have read: fresh for some seconds, repeated once unless the server refused. */
import { QueryCache, QueryClient } from "@tanstack/react-query"
import { ApiError, isSignedOut } from "./api-error.js"

const staleMs = 5000
/** How far what is shown may be behind what others change, unless a page says why it may be further. */
export const refreshMs = 5000
const retries = 1
// So many at most, of a page that asks about many things.
const requestsInASecond = 5

/** How often to read each of so many things: the more seldom the more there are. */
export const everyMs = (things: number, leastMs = refreshMs): number =>
  Math.max(leastMs, (things * 1000) / requestsInASecond)

export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      // The session may have ended, for example since its key was revoked: then the frame asks to sign in.
      onError: (error) => {
        if (isSignedOut(error)) void client.invalidateQueries({ queryKey: ["session"] })
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: staleMs,
        retry: (failures, error) => failures < retries && !(error instanceof ApiError && error.status < 500),
      },
    },
  })
  return client
}
