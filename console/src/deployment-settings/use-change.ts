/** Changes a deployment; what the pages know of it is read again. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { paths } from "../platform/paths.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

export function useChange(deployment: Deployment) {
  const { call } = usePlatform()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: unknown) => call<Deployment>(paths.deployment(deployment.id), { method: "PATCH", body }),
    onSuccess: () => queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(deployment.id) }),
  })
}
