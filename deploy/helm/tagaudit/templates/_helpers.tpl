{{- define "tagaudit.name" -}}
{{- if contains "tagaudit" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-tagaudit" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tagaudit.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "tagaudit.name" .) }}
{{- end }}

{{- define "tagaudit.labels" -}}
app.kubernetes.io/name: tagaudit
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The file name of the report: the cluster, or the release where there are many. */ -}}
{{- define "tagaudit.report" -}}
{{ .Values.clusterId | default .Release.Name }}
{{- end }}
