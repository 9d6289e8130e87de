{{- define "queue-server.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- /* At most 50 characters, since names of Services and Jobs are this one with a suffix. */}}
{{- define "queue-server.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "queue-server.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "queue-server.names" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "queue-server.names" -}}
app.kubernetes.io/name: {{ include "queue-server.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The labels of the servers' pods, which those of the Jobs do not have. */}}
{{- define "queue-server.selectorLabels" -}}
{{ include "queue-server.names" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "queue-server.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "queue-server.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "queue-server.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "queue-server.secretName" -}}
{{- .Values.existingSecret | default (include "queue-server.fullname" .) }}
{{- end }}

{{- /* The most servers that share Redis at a time: a rolling update starts one more than the replicas. */}}
{{- define "queue-server.servers" -}}
{{- $replicas := .Values.replicaCount }}
{{- if .Values.autoscaling.enabled }}{{ $replicas = .Values.autoscaling.maxReplicas }}{{ end }}
{{- add $replicas 1 }}
{{- end }}

{{- /* What cannot be: said before anything is made. */}}
{{- define "queue-server.check" -}}
{{- if eq .Values.store "embedded" }}
{{- if .Values.autoscaling.enabled }}{{ fail "store: embedded keeps the line in one server: set autoscaling.enabled to false, or store to redis" }}{{ end }}
{{- if ne (int .Values.replicaCount) 1 }}{{ fail (printf "store: embedded keeps the line in one server: set replicaCount to 1 instead of %d, or store to redis" (int .Values.replicaCount)) }}{{ end }}
{{- else if not (or .Values.redis.url .Values.redis.existingSecret) }}
{{- fail "store: redis needs a Redis: set redis.url, or redis.existingSecret with the URL, or store to embedded and replicaCount to 1" }}
{{- end }}
{{- if and (or .Values.redis.caSecret .Values.redis.tlsSecret) .Values.redis.url (not (hasPrefix "rediss" .Values.redis.url)) }}{{ fail "redis.caSecret and redis.tlsSecret are for TLS: begin redis.url with rediss" }}{{ end }}
{{- if and .Values.redis.url .Values.redis.existingSecret }}{{ fail "redis.url and redis.existingSecret are both set: keep one" }}{{ end }}
{{- if get (.Values.settings | default dict) "upstream" }}{{ fail "settings.upstream: the chart makes Service, port and network policy for sites: write sites: [{zone: SHOP, upstream: ...}] in place of it" }}{{ end }}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.adminFrom) }}
{{- fail "serviceMonitor.enabled: the chart's network policy lets nobody reach the metrics: name Prometheus's pods in networkPolicy.adminFrom, for example [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]" }}
{{- end }}
{{- if not (or .Values.tlsSecret .Values.networkPolicy.enabled (get (.Values.settings | default dict) "admin-plaintext")) }}
{{- fail "networkPolicy.enabled: without the network policy every pod reaches the operators' listener, and without tlsSecret tokens cross the network in plain text: set tlsSecret, or settings.admin-plaintext to allow" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}{{ fail "autoscaling.minReplicas is above autoscaling.maxReplicas" }}{{ end }}
{{- end }}

{{- /* Maps that are put together into one: a key of a later map wins, and null leaves a key out. Else it would be written twice. */}}
{{- define "queue-server.merge" -}}
{{- $all := dict }}
{{- range . }}{{ range $key, $value := . }}{{ $_ := set $all $key $value }}{{ end }}{{ end }}
{{- range $key, $value := $all }}{{ if kindIs "invalid" $value }}{{ $_ := unset $all $key }}{{ end }}{{ end }}
{{- toYaml $all }}
{{- end }}

{{- /* Two lists that are put together: an item of the second takes the place of the first's item of the same name, by the key "by". */}}
{{- define "queue-server.override" -}}
{{- $by := .by }}{{ $theirs := .theirs | default list }}{{ $names := list }}{{ $all := list }}
{{- range $theirs }}{{ $names = append $names (get . $by) }}{{ end }}
{{- range .ours }}{{ if not (has (get . $by) $names) }}{{ $all = append $all . }}{{ end }}{{ end }}
{{- toYaml (concat $all $theirs) }}
{{- end }}

{{- define "queue-server.allLabels" -}}
{{- include "queue-server.merge" (list (fromYaml (include "queue-server.labels" .root)) (.with | default dict) (fromYaml (include "queue-server.names" .root)) (.last | default dict)) }}
{{- end }}
