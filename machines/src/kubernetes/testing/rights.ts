/** The least rights of the machine, which the chart gives to the control plane: tests run with these, and with no other. */
import type { Cluster } from "../cluster/cluster.js"

export const machineRules = [
  { apiGroups: [""], resources: ["pods", "services"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
  { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["list"] },
]

/** Gives them to the user of `real-cluster.ts`. */
export async function grantRights(admin: Cluster, namespace: string, rules = machineRules): Promise<void> {
  const at = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const metadata = { name: "superstep-machine" }
  await admin.json(`${at}/roles`, { method: "POST", body: { metadata, rules } })
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name }
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "machine" }]
  await admin.json(`${at}/rolebindings`, { method: "POST", body: { metadata, roleRef, subjects } })
}
