{{- /* The environment of a server. extraEnv overrides each by its name. */}}
{{- define "queue-server.env" -}}
- {name: QUEUE_CONFIG, value: /etc/queue-server/config.yaml}
- {name: QUEUE_STORE, value: {{ .Values.store }}}
- {name: QUEUE_ADDR, value: ":8080"}
- {name: QUEUE_ADMIN_ADDR, value: ":8081"}
{{- if .Values.limitsApi.enabled }}
- {name: QUEUE_LIMITS_ADDR, value: ":8082"}
{{- end }}
{{- if .Values.gate.enabled }}
- {name: QUEUE_SITE_ADDR, value: ":8083"}
{{- end }}
{{- if .Values.sites }}
- {name: QUEUE_SITES_ADDR, value: ":8088"}
{{- end }}
{{- if .Values.tlsSecret }}
- {name: QUEUE_TLS_CERT_FILE, value: /etc/queue-server/tls/tls.crt}
- {name: QUEUE_TLS_KEY_FILE, value: /etc/queue-server/tls/tls.key}
{{- else if .Values.networkPolicy.enabled }}
{{- /* The network policy lets only the pods of networkPolicy.adminFrom reach the operators' listener. */}}
- {name: QUEUE_ADMIN_PLAINTEXT, value: allow}
{{- end }}
- {name: QUEUE_SECRET_FILE, value: /etc/queue-server/secrets/secret}
- {name: QUEUE_ADMIN_TOKEN_FILE, value: /etc/queue-server/secrets/admin-token}
- {name: QUEUE_METRICS_TOKEN_FILE, value: /etc/queue-server/secrets/metrics-token}
- {name: QUEUE_DATA_DIR, value: /var/lib/queue-server}
- {name: QUEUE_DRAIN_DELAY, value: {{ printf "%ds" (int .Values.drainDelaySeconds) }}}
{{- if eq .Values.store "redis" }}
- {name: QUEUE_SERVERS, value: {{ include "queue-server.servers" . | quote }}}
- name: QUEUE_REDIS_URL
  {{- if .Values.redis.existingSecret }}
  valueFrom: {secretKeyRef: {name: {{ .Values.redis.existingSecret }}, key: {{ .Values.redis.existingSecretKey }}}}
  {{- else }}
  value: {{ .Values.redis.url | quote }}
  {{- end }}
{{- if .Values.redis.caSecret }}
- {name: QUEUE_REDIS_CA, value: /etc/queue-server/redis/{{ .Values.redis.caSecretKey }}}
{{- end }}
{{- if .Values.redis.tlsSecret }}
- {name: QUEUE_REDIS_CERT_FILE, value: /etc/queue-server/redis-tls/tls.crt}
- {name: QUEUE_REDIS_KEY_FILE, value: /etc/queue-server/redis-tls/tls.key}
{{- end }}
{{- if .Values.redis.passwordSecret }}
- {name: QUEUE_REDIS_PASSWORD_FILE, value: /etc/queue-server/redis-password/{{ .Values.redis.passwordSecretKey }}}
{{- end }}
{{- end }}
{{- end }}

{{- /* Where its volumes are. */}}
{{- define "queue-server.mounts" -}}
- {name: config, mountPath: /etc/queue-server/config.yaml, subPath: config.yaml, readOnly: true}
- {name: secrets, mountPath: /etc/queue-server/secrets, readOnly: true}
- {name: data, mountPath: /var/lib/queue-server}
{{- if .Values.tlsSecret }}
- {name: tls, mountPath: /etc/queue-server/tls, readOnly: true}
{{- end }}
{{- if eq .Values.store "redis" }}
{{- if .Values.redis.caSecret }}
- {name: redis-ca, mountPath: /etc/queue-server/redis, readOnly: true}
{{- end }}
{{- if .Values.redis.tlsSecret }}
- {name: redis-tls, mountPath: /etc/queue-server/redis-tls, readOnly: true}
{{- end }}
{{- if .Values.redis.passwordSecret }}
- {name: redis-password, mountPath: /etc/queue-server/redis-password, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* Its volumes. */}}
{{- define "queue-server.volumes" -}}
- name: config
  configMap: {name: {{ include "queue-server.fullname" . }}}
- name: secrets
  secret: {secretName: {{ include "queue-server.secretName" . }}, defaultMode: 0440}
{{- if .Values.tlsSecret }}
- name: tls
  secret: {secretName: {{ .Values.tlsSecret }}, defaultMode: 0440}
{{- end }}
{{- if eq .Values.store "redis" }}
# What is made at a start and needs no keeping. All that lasts is in Redis.
- name: data
  emptyDir: {}
{{- if .Values.redis.caSecret }}
- name: redis-ca
  secret: {secretName: {{ .Values.redis.caSecret }}}
{{- end }}
{{- if .Values.redis.tlsSecret }}
- name: redis-tls
  secret: {secretName: {{ .Values.redis.tlsSecret }}, defaultMode: 0440}
{{- end }}
{{- if .Values.redis.passwordSecret }}
- name: redis-password
  secret: {secretName: {{ .Values.redis.passwordSecret }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- end }}

{{- /* The pod of a server: in a Deployment with Redis, in a StatefulSet with the embedded store. */}}
{{- define "queue-server.pod" -}}
{{- $tls := ternary ", scheme: HTTPS" "" (ne .Values.tlsSecret "") -}}
metadata:
  annotations:
    # A change of the settings starts new pods. Zones are not among them: the Job applies those to running servers.
    {{- include "queue-server.merge" (list .Values.podAnnotations (dict "checksum/settings" (cat (toJson .Values.settings) (toJson .Values.sites) (toJson .Values.groups) | sha256sum))) | nindent 4 }}
  labels:
    {{- include "queue-server.allLabels" (dict "root" . "with" .Values.podLabels "last" (dict "app.kubernetes.io/component" "server")) | nindent 4 }}
spec:
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "queue-server.serviceAccountName" . }}
  automountServiceAccountToken: false
  # The drain, and at most 25 s for answers in the making.
  terminationGracePeriodSeconds: {{ add .Values.drainDelaySeconds 30 }}
  securityContext:
    {{- include "queue-server.merge" (list .Values.podSecurityContext) | nindent 4 }}
  containers:
    - name: queue-server
      image: {{ include "queue-server.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        {{- include "queue-server.override" (dict "by" "name" "ours" (fromYamlArray (include "queue-server.env" .)) "theirs" .Values.extraEnv) | nindent 8 }}
      ports:
        - {name: http, containerPort: 8080}
        - {name: admin, containerPort: 8081}
        {{- if .Values.limitsApi.enabled }}
        - {name: limits, containerPort: 8082}
        {{- end }}
        {{- if .Values.gate.enabled }}
        - {name: gate, containerPort: 8083}
        {{- end }}
        {{- if .Values.sites }}
        - {name: sites, containerPort: 8088}
        {{- end }}
      # Reading a large journal takes time at a start: five minutes at most.
      startupProbe:
        httpGet: {path: /healthz, port: http{{ $tls }}}
        periodSeconds: 2
        failureThreshold: 150
      # Under a burst a server may be late. To end it then would make a bad minute worse.
      livenessProbe:
        httpGet: {path: /healthz, port: http{{ $tls }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http{{ $tls }}}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "queue-server.merge" (list .Values.securityContext) | nindent 8 }}
      volumeMounts:
        {{- include "queue-server.override" (dict "by" "mountPath" "ours" (fromYamlArray (include "queue-server.mounts" .)) "theirs" .Values.extraVolumeMounts) | nindent 8 }}
  volumes:
    {{- include "queue-server.override" (dict "by" "name" "ours" (fromYamlArray (include "queue-server.volumes" .)) "theirs" .Values.extraVolumes) | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "queue-server.selectorLabels" $ | nindent 10 }}
    {{- end }}
    {{- end }}
{{- end }}
