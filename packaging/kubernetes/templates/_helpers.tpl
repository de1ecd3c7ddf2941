{{- define "tidemark.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{/* Names of Jobs have something behind it, and 63 characters at most. */}}
{{- define "tidemark.fullname" -}}
{{- $name := include "tidemark.name" . -}}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $whole .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: {{ include "tidemark.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* The config of the user, with `serve` as the cluster needs it. */}}
{{- define "tidemark.config" -}}
{{- $serve := dict "listen" .Values.serve.listen "token" "${file:/run/secrets/tidemark/token}" -}}
{{- $serve = mergeOverwrite $serve (deepCopy (dig "serve" dict .Values.config)) -}}
{{- $_ := set $serve "hosts" (include "tidemark.hosts" . | fromYamlArray) -}}
{{- $config := deepCopy .Values.config -}}
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
serviceAccountName: {{ include "tidemark.serviceAccount" . }}
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
priorityClassName: {{ . }}
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
    configMap: { name: {{ include "tidemark.configMap" . }} }
  {{- with .Values.secret }}
  - name: secrets
    secret: { secretName: {{ . }}, defaultMode: 0440 }
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
