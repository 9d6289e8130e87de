{{- /* The pod of a server: in a Deployment with Redis, in a StatefulSet with the embedded store. */}}
{{- define "queue-server.pod" -}}
{{- $tls := ternary ", scheme: HTTPS" "" (ne .Values.tlsSecret "") -}}
metadata:
  annotations:
    # A change of the settings starts new pods. Zones are not among them: the Job applies those to running servers.
    checksum/settings: {{ toJson .Values.settings | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "queue-server.labels" . | nindent 4 }}
    app.kubernetes.io/component: server
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
    {{- include "queue-server.podSecurityContext" . | nindent 4 }}
    {{- with .Values.podSecurityContext }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  containers:
    - name: queue-server
      image: {{ include "queue-server.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
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
        {{- if .Values.tlsSecret }}
        - {name: QUEUE_TLS_CERT_FILE, value: /etc/queue-server/tls/tls.crt}
        - {name: QUEUE_TLS_KEY_FILE, value: /etc/queue-server/tls/tls.key}
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
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: http, containerPort: 8080}
        - {name: admin, containerPort: 8081}
        {{- if .Values.limitsApi.enabled }}
        - {name: limits, containerPort: 8082}
        {{- end }}
        {{- if .Values.gate.enabled }}
        - {name: gate, containerPort: 8083}
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
        {{- include "queue-server.containerSecurityContext" . | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/queue-server/config.yaml, subPath: config.yaml, readOnly: true}
        - {name: secrets, mountPath: /etc/queue-server/secrets, readOnly: true}
        - {name: data, mountPath: /var/lib/queue-server}
        {{- if .Values.tlsSecret }}
        - {name: tls, mountPath: /etc/queue-server/tls, readOnly: true}
        {{- end }}
        {{- if and (eq .Values.store "redis") .Values.redis.caSecret }}
        - {name: redis-ca, mountPath: /etc/queue-server/redis, readOnly: true}
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
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
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
