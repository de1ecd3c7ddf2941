{{- define "tidemark.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{/* Names of Jobs have something behind it, and 63 characters at most. */}}
{{- define "tidemark.fullname" -}}
{{- $name := include "tidemark.name" . -}}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $whole .Values.fullnameOverride | replace "." "-" | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: {{ include "tidemark.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "tidemark.labels" -}}
{{ include "tidemark.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tidemark.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "tidemark.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "tidemark.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "tidemark.configMap" -}}
{{ default (include "tidemark.fullname" .) .Values.existingConfig }}
{{- end -}}

{{/* A server answers to the names that it knows: the pod's address for Prometheus,
     the Service's for other pods, localhost for probes and a forwarded port. */}}
{{- define "tidemark.hosts" -}}
{{- $name := include "tidemark.fullname" . -}}
{{- $space := .Release.Namespace -}}
{{- $pod := ternary "[${POD_IP}]" "${POD_IP}" (hasPrefix "[" .Values.serve.listen) -}}
{{- $own := list "localhost" "127.0.0.1" $pod $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) -}}
{{- $asked := dig "serve" "hosts" list .Values.config -}}
{{- concat $own $asked .Values.serve.hosts | uniq | toYaml -}}
{{- end -}}

{{/* Helm reads `off` and `on` as truth values, also where they are words. */}}
{{- define "tidemark.words" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
{{- if kindIs "map" $value -}}
{{- include "tidemark.words" $value -}}
{{- else if and (has $key (list "verify" "settle")) (kindIs "bool" $value) -}}
{{- $_ := set $map $key (ternary "on" "off" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.notifyWords" -}}
{{- range . -}}
{{- if and (kindIs "map" .) (hasKey . "true") -}}
{{- $_ := set . "on" (get . "true") -}}
{{- $_ = unset . "true" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The config of the user, with `serve` as the cluster needs it. */}}
{{- define "tidemark.config" -}}
{{- $serve := dict "listen" .Values.serve.listen "token" "${file:/run/secrets/tidemark/token}" -}}
{{- $serve = mergeOverwrite $serve (deepCopy (dig "serve" dict .Values.config)) -}}
{{- $_ := set $serve "hosts" (include "tidemark.hosts" . | fromYamlArray) -}}
{{- $config := deepCopy .Values.config -}}
{{- include "tidemark.words" $config -}}
{{- include "tidemark.notifyWords" $config.notify -}}
{{- if .Values.serve.enabled -}}
{{- $_ := set $config "serve" $serve -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "tidemark.podMeta" -}}
labels:
  {{- include "tidemark.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  {{- if not .root.Values.existingConfig }}
  checksum/config: {{ include "tidemark.config" .root | sha256sum }}
  {{- end }}
  kubectl.kubernetes.io/default-container: tidemark
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Of each pod: not root, no rights, no token of Kubernetes. */}}
{{- define "tidemark.podSpec" -}}
serviceAccountName: {{ include "tidemark.serviceAccount" . | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .Values.serve.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 900
  runAsGroup: 900
  fsGroup: 900
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap: { name: {{ include "tidemark.configMap" . | quote }} }
  {{- with .Values.secret }}
  - name: secrets
    secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
  {{- end }}
  - name: home
    emptyDir: {}
  - name: tmp
    emptyDir: {}
  {{- with .Values.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Of each container, behind its name and command. */}}
{{- define "tidemark.container" -}}
image: {{ include "tidemark.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env:
  - name: TIDEMARK_CONFIG
    value: /etc/tidemark/tidemark.yaml
  - name: POD_IP
    valueFrom: { fieldRef: { fieldPath: status.podIP } }
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - { name: config, mountPath: /etc/tidemark, readOnly: true }
  {{- if .Values.secret }}
  - { name: secrets, mountPath: /run/secrets/tidemark, readOnly: true }
  {{- end }}
  - { name: home, mountPath: /var/lib/tidemark }
  - { name: tmp, mountPath: /tmp }
  {{- with .Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
