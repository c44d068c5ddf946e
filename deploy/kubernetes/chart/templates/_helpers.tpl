{{/* The metadata of an object: of a dict with `root` and `name`, and perhaps further `labels` and `annotations`. */}}
{{- define "stampgate.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- $own := dict "app.kubernetes.io/name" "stampgate" }}
  {{- toYaml (merge $own (.labels | default dict) .root.Values.labels) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The restrictions of every pod: the profile `restricted`, with the user of the image. */}}
{{- define "stampgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
# The files of the secrets and the volume belong to this group, so that the pod can read and write them.
fsGroup: 65532
# At every start, the value Always would give the group access to the event log's files, whose mode must stay
# 0600.
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The restrictions of every container. */}}
{{- define "stampgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The gateway's image, by its digest if the values have one. */}}
{{- define "stampgate.image" -}}
{{- with .Values.image -}}
{{ required "set image.repository: the gateway's image in your registry" .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Where the pods of the gateway and of the migration run, and how their images are pulled. */}}
{{- define "stampgate.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
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
{{- end }}
