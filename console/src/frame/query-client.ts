/** How the pages keep what they have read: fresh for some seconds, repeated once unless the server refused. */
import { QueryClient } from "@tanstack/react-query"
import { ApiError } from "./api-error.js"

const staleMs = 5000
const retries = 1

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: staleMs,
        retry: (failures, error) => failures < retries && !(error instanceof ApiError && error.status < 500),
      },
    },
  })
}
