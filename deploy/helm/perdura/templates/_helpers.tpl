{{- define "perdura.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "perdura.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "perdura.labels" -}}
{{ include "perdura.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "perdura.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "perdura.fullname" .) }}
{{- end }}

{{- define "perdura.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Environment variables of every process; the values of secret ones are in the Secret. */}}
{{- define "perdura.settings" -}}
{{- $own := dict
  "TEMPORAL_ADDRESS" (required "temporal.address: host:port of your Temporal server" .Values.temporal.address)
  "TEMPORAL_NAMESPACE" .Values.temporal.namespace
  "TEMPORAL_TASK_QUEUE" .Values.temporal.taskQueue
  "TEMPORAL_ROLE_QUEUES" .Values.temporal.roleQueues
  "PERDURA_PUBLIC_URL" .Values.publicUrl
  "S3_BUCKET" .Values.storage.bucket
  "S3_ENDPOINT" .Values.storage.endpoint
}}
{{- range list "DATABASE_URL" "DATABASE_DIRECT_URL" "ENCRYPTION_KEYS" "WEBHOOK_SECRET" "METRICS_TOKEN" "TEMPORAL_API_KEY" "S3_SECRET_ACCESS_KEY" "OIDC_CLIENT_SECRET" "SMTP_URL" }}
{{- if hasKey $.Values.settings . }}{{ fail (printf "settings.%s is secret: put it into the Secret that secretName names" .) }}{{ end }}
{{- end }}
{{- range $name, $value := merge (dict) .Values.settings $own }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "perdura.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "perdura.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "perdura.mounts" -}}
- { name: home, mountPath: /data }
- { name: tmp, mountPath: /tmp }
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "perdura.volumes" -}}
- name: home
{{- if .Values.storage.bucket }}
  emptyDir: { sizeLimit: {{ .Values.storage.scratch }} }
{{- else }}
  persistentVolumeClaim: { claimName: {{ .Values.storage.existingClaim | default (include "perdura.fullname" .) }} }
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: {{ .Values.storage.scratch }} }
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The task queues that a worker asks for work; a list under the key `queues`. */}}
{{- define "perdura.queues" -}}
{{- $queue := .root.Values.temporal.taskQueue }}
{{- $roles := splitList "," (.worker.role | default "all" | replace " " "") }}
{{- $all := has "all" $roles }}
{{- $found := list }}
{{- if or $all (has "runs" $roles) }}{{ $found = append $found $queue }}{{ end }}
{{- if .root.Values.temporal.roleQueues }}
{{- range list "models" "tools" }}
{{- if or $all (has . $roles) }}{{ $found = append $found (printf "%s-%s" $queue .) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml (dict "queues" $found) }}
{{- end }}

{{/* What every pod has: root context, component, settings of the component, and its secret. */}}
{{- define "perdura.pod" -}}
metadata:
  labels:
    {{- include "perdura.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .settings.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "perdura.serviceAccount" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    {{- include "perdura.podSecurity" .root | nindent 4 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "perdura.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  {{- with .settings.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
