/**
 * Who may connect to what runs in pods, and where that may connect to, in clusters that enforce it. Each kind of pod has a policy for each
 * direction: kube-router applies the egress rules of a policy to incoming connections, too, so pods with one for both could reach each other. Pure.
 */
import type { Owner } from "./manifests.js"
import { type KubernetesObject, labels, platformLabels, unitPort } from "./objects.js"

type Policy = KubernetesObject & { readonly spec: object }

// An older release has one policy for both directions, with the name of ingress: egress comes first, so that there is no moment without.
const namesOf = (kind: "units" | "builds", homeId: string) =>
  ({ egress: `superstep-${kind}-egress-${homeId}`, ingress: `superstep-${kind}-${homeId}` }) as const

/** The names of all policies of an installation. */
export const policyNames = (homeId: string): readonly string[] =>
  (["units", "builds"] as const).flatMap((kind) => Object.values(namesOf(kind, homeId)))

function policiesOf(
  { homeId, namespace }: Owner,
  {
    kind,
    label,
    ...rules
  }: { kind: "units" | "builds"; label: string; egress: readonly object[]; ingress: readonly object[] },
): readonly Policy[] {
  const names = namesOf(kind, homeId)
  const policy = (direction: "egress" | "ingress", policyType: string) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: names[direction],
      namespace,
      labels: { "app.kubernetes.io/managed-by": "superstep", [labels.owner]: homeId },
    },
    spec: {
      // Policies add up: units and builds are told apart.
      podSelector: { matchLabels: { [labels.owner]: homeId }, matchExpressions: [{ key: label, operator: "Exists" }] },
      policyTypes: [policyType],
      [direction]: rules[direction],
    },
  })
  return [policy("egress", "Egress"), policy("ingress", "Ingress")]
}

// Addresses at which clouds give credentials of the computer to whoever asks.
const cloudMetadata = ["169.254.169.254/32", "169.254.169.252/32", "169.254.170.2/32", "169.254.170.23/32"]
const cloudMetadataV6 = ["fd00:ec2::254/128", "fd00:ec2::23/128"]

/** Only the platform's own pods, in the namespace of the control plane, reach units; so units do not reach each other. */
export function unitPoliciesOf(owner: Owner, platformNamespace: string): readonly Policy[] {
  const platform = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": platformNamespace } },
    podSelector: { matchLabels: platformLabels },
  }
  const anywhere = [
    { ipBlock: { cidr: "0.0.0.0/0", except: cloudMetadata } },
    { ipBlock: { cidr: "::/0", except: cloudMetadataV6 } },
  ]
  return policiesOf(owner, {
    kind: "units",
    label: labels.unit,
    egress: [{ to: anywhere }],
    ingress: [{ from: [platform], ports: [{ port: unitPort, protocol: "TCP" }] }],
  })
}

// Addresses of private networks: there are the API server, Postgres, and whatever else a cluster does not show to the public.
const privateNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"]
const privateNetworksV6 = ["fc00::/7", "fe80::/10"]

// CoreDNS and kube-dns have this label everywhere; the address is that of a cache on each node.
const dnsServers = [
  { namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } },
  { ipBlock: { cidr: "169.254.20.10/32" } },
]
// Policies see the port of the pod, which for a server without rights may be 5353.
const dnsPorts = [53, 5353].flatMap((port) => ["UDP", "TCP"].map((protocol) => ({ port, protocol })))

/** Nobody connects to builds, and they connect to public addresses and the cluster's DNS. @param egress  what else they may reach */
export function buildPoliciesOf(owner: Owner, egress: readonly object[]): readonly Policy[] {
  const reachable = [
    { ipBlock: { cidr: "0.0.0.0/0", except: privateNetworks } },
    { ipBlock: { cidr: "::/0", except: privateNetworksV6 } },
    ...egress,
  ]
  return policiesOf(owner, {
    kind: "builds",
    label: labels.build,
    egress: [{ to: dnsServers, ports: dnsPorts }, { to: reachable }],
    ingress: [],
  })
}
