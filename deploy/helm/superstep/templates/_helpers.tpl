{{/* Names, labels, and what both kinds of pods have. */}}
{{- define "superstep.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "superstep.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "superstep.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "superstep.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of one component: (list . "edge") */}}
{{- define "superstep.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "superstep.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "superstep.labels" -}}
{{- $root := index . 0 -}}
{{ include "superstep.selector" . }}
app.kubernetes.io/part-of: superstep
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{- define "superstep.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "superstep.agentsNamespace" -}}{{ .Values.agents.namespace }}{{- end -}}

{{/* The public addresses. */}}
{{- define "superstep.controlUrl" -}}
{{- if .Values.control.url -}}{{ .Values.control.url }}
{{- else if .Values.ingress.enabled -}}{{ ternary "https" "http" (gt (len .Values.ingress.tls) 0) }}://{{ .Values.ingress.controlHost }}
{{- else -}}http://{{ include "superstep.fullname" . }}-control.{{ .Release.Namespace }}.svc:8900{{- end -}}
{{- end -}}

{{- define "superstep.edgeUrl" -}}
{{- if .Values.edge.url -}}{{ .Values.edge.url }}
{{- else if .Values.ingress.enabled -}}{{ ternary "https" "http" (gt (len .Values.ingress.tls) 0) }}://{{ .Values.ingress.agentsHost }}
{{- else -}}http://{{ include "superstep.fullname" . }}-edge.{{ .Release.Namespace }}.svc:8901{{- end -}}
{{- end -}}

{{- define "superstep.listenHost" -}}
{{- if contains ":" .Values.listenHost -}}[{{ .Values.listenHost }}]{{- else -}}{{ .Values.listenHost }}{{- end -}}
{{- end -}}

{{/* As the user `node` of the official images of Node: ssh refuses to run as a user without a name. */}}
{{- define "superstep.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "superstep.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* A variable from the Secret: (list . "SUPERSTEP_EDGE_TOKEN" "edge-token") */}}
{{- define "superstep.secretEnv" -}}
- name: {{ index . 1 }}
  valueFrom: { secretKeyRef: { name: {{ (index . 0).Values.secretName }}, key: {{ index . 2 }} } }
{{- end -}}

{{- define "superstep.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
